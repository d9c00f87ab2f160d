import BywayGateway
import Foundation
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import Byway

/// A continued download from an origin with arbitrary responses to ranges.
@Suite(.timeLimit(.minutes(1))) struct DownloadRangeTests {
  /// An origin with a list of responses; the last one is repeated.
  private final class Origin: Sendable {
    private let answers: [Response]
    let ranges = Mutex<[String]>([])

    init(_ answers: [Response]) { self.answers = answers }

    func respond(to request: Request) -> Response {
      ranges.withLock { ranges in
        ranges.append(request.head.headerFields[.range] ?? "-")
        return answers[min(ranges.count, answers.count) - 1]
      }
    }
  }

  private static func part(_ range: String, _ count: Int) -> Response {
    // The body has no declared length.
    let body = AsyncStream<ByteBuffer> { continuation in
      continuation.yield(ByteBuffer(repeating: UInt8(ascii: "B"), count: count))
      continuation.finish()
    }
    return Response(status: .partialContent, fields: [.contentRange: range, .eTag: "\"1\""], body: Body(body))
  }

  private static func whole(_ count: Int) -> Response {
    Response(status: .ok, fields: [.eTag: "\"1\""], body: Body(String(repeating: "C", count: count)))
  }

  /// Continues a download of 1,000 bytes, of which 500 are stored.
  /// - Parameter total: the total length that an earlier process has stored.
  private func download(_ answers: [Response], total: Int? = 1000) async throws -> (content: String, ranges: [String]) {
    let origin = Origin(answers)
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: .handler { origin.respond(to: $0) }))
    let client = BywayClient(link)
    let folder = try TemporaryFolder()
    let path = folder["file"]
    try Data(repeating: UInt8(ascii: "A"), count: 500).write(to: URL(fileURLWithPath: path + ".part"))
    let tag = "\"1\"\thttp://device/f" + (total.map { "\t\($0)" } ?? "")
    try tag.write(toFile: path + ".part.tag", atomically: false, encoding: .utf8)
    let result = await Result { try await client.download("http://device/f", to: path) }
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
    let size = try result.get()
    let content = try String(contentsOfFile: path, encoding: .utf8)
    #expect(size == content.utf8.count)
    return (content, origin.ranges.withLock(\.self))
  }

  private let all = String(repeating: "A", count: 500) + String(repeating: "B", count: 500)

  @Test("a download continues after a part shorter than requested", arguments: [1000, nil])
  func subset(_ total: Int?) async throws {
    let answers = [Self.part("bytes 500-600/1000", 101), Self.part("bytes 601-999/1000", 399)]
    let (content, ranges) = try await download(answers, total: total)
    #expect(content == all)
    #expect(ranges == ["bytes=500-", "bytes=601-"])
  }

  @Test("a response shorter than its announced range counts as a loss, and the download continues")
  func short() async throws {
    let answers = [Self.part("bytes 500-999/1000", 7), Self.part("bytes 507-999/1000", 493)]
    let (content, ranges) = try await download(answers)
    #expect(content == all)
    #expect(ranges == ["bytes=500-", "bytes=507-"])
  }

  @Test("a response longer than its announced range is an error, and leaves no file")
  func long() async throws {
    let error = await #expect(throws: BywayError.self) {
      try await download([Self.part("bytes 500-999/1000", 5000)])
    }
    #expect(error?.code == .protocolViolation)
  }

  @Test(
    "a part with another total length, or an unknown one, restarts the download",
    arguments: [
      ("bytes 500-1999/2000", 1500, 1000), ("bytes 500-599/600", 100, 1000), ("bytes 500-1999/*", 1500, 1000),
      ("bytes 500-999/*", 500, nil),
    ] as [(String, Int, Int?)])
  func otherLength(_ range: String, _ count: Int, _ total: Int?) async throws {
    let (content, ranges) = try await download([Self.part(range, count), Self.whole(2000)], total: total)
    #expect(content == String(repeating: "C", count: 2000))
    #expect(ranges == ["bytes=500-", "-"])
  }

  @Test("a part need not repeat a known total length")
  func unsaid() async throws {
    #expect(try await download([Self.part("bytes 500-999/*", 500)]).content == all)
  }

  @Test("a different range than requested, or an invalid one, fails the download")
  func otherRange() async throws {
    for range in ["bytes 400-999/1000", "bytes 500-", "bytes 500-499/1000", "bytes 500-999/999", "bytes +500-999/1000"]
    {
      let error = await #expect(throws: BywayError.self, "\(range)") {
        try await download([Self.part(range, 500)])
      }
      #expect(error?.code == .refused)
    }
  }
}

extension Result where Failure == any Error {
  fileprivate init(_ body: () async throws -> Success) async {
    do { self = .success(try await body()) } catch { self = .failure(error) }
  }
}
