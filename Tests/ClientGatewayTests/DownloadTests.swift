import Byway
import BywayGateway
import Foundation
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import TestPeers
import TestTools
import Testing

/// Downloads of a file over an unreliable link, from an origin with validators.
@Suite(.timeLimit(.minutes(1))) struct DownloadTests {
  /// An origin with one resource, ranges, validators, and truncated responses.
  final class Origin: Sendable {
    struct State {
      var content = [UInt8]((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
      var fields: HTTPFields = [.eTag: "\"1\""]
      /// The lengths after which the next responses stop; each breaks when the client has received them.
      var cuts: [Int] = []
      var stopped: AsyncThrowingStream<ByteBuffer, any Error>.Continuation?
      var ranges: [String] = []
      /// Whether If-Range is evaluated; some origins ignore it.
      var heedsIfRange = true
      /// Whether each response has different content.
      var changes = false
      /// The total length that the next truncated response declares.
      var pretendedLength: Int?
    }
    let state = Mutex(State())

    func respond(to request: Request) -> Response {
      state.withLock { state in
        let fields = request.head.headerFields
        state.ranges.append(fields[.range] ?? "-")
        if state.changes { state.fields[.eTag] = "\"\(state.ranges.count)\"" }
        var answer = Response(status: .ok, fields: state.fields)
        var bytes = state.content[...]
        if let range = fields[.range], !state.heedsIfRange || fields[.ifRange] == state.fields[.eTag],
          let start = Int(range.dropFirst("bytes=".count).dropLast())
        {
          guard start < bytes.count else { return Response(status: .rangeNotSatisfiable) }
          answer.head.status = .partialContent
          answer.head.headerFields[.contentRange] = "bytes \(start)-\(bytes.count - 1)/\(bytes.count)"
          bytes = bytes[start...]
        }
        let whole = ByteBuffer(bytes: bytes)
        guard let cut = state.cuts.popLast() else {
          answer.body = Body(whole)
          return answer
        }
        let (stream, continuation) = AsyncThrowingStream.makeStream(of: ByteBuffer.self)
        continuation.yield(ByteBuffer(bytes: bytes.prefix(cut)))
        state.stopped = continuation
        answer.body = Body(stream, length: state.pretendedLength ?? whole.readableBytes)
        return answer
      }
    }
  }

  /// Breaks the response that has stopped.
  private static func breaking(_ origin: Origin) -> @Sendable (BywayClient.DownloadProgress) -> Void {
    { _ in origin.state.withLock { $0.stopped.take() }?.finish(throwing: CancellationError()) }
  }

  private func withOrigin(
    _ origin: Origin, _ body: (BywayClient, _ path: String, TemporaryFolder) async throws -> Void
  ) async throws {
    let link = try TransportRegistry([LoopbackTransport()]).link("loopback:\(UUID())")
    let gateway = try await Gateway.start(
      GatewayConfiguration(links: [link], origin: .handler { origin.respond(to: $0) }))
    let client = BywayClient(link)
    let folder = try TemporaryFolder()
    try await body(client, folder["file"], folder)
    await client.shutDown()
    await gateway.stop(within: .seconds(1))
  }

  /// Creates the partial file of an earlier process.
  private func leave(_ part: Data, of url: String, tag: String, at path: String) throws {
    try part.write(to: URL(fileURLWithPath: path + ".part"))
    try "\"\(tag)\"\t\(url)\n".write(toFile: path + ".part.tag", atomically: false, encoding: .utf8)
  }

  private func content(of path: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
  }

  @Test("a file arrives complete with progress, and no temporary file stays")
  func whole() async throws {
    let origin = Origin()
    try await withOrigin(origin) { client, path, folder in
      let reports = Mutex<[BywayClient.DownloadProgress]>([])
      let size = try await client.download("http://device/f", to: path) { report in
        reports.withLock { $0.append(report) }
      }
      #expect(size == 300_000)
      #expect(try content(of: path) == origin.state.withLock { $0.content })
      let seen = reports.withLock { $0 }
      #expect(seen.last?.received == 300_000 && seen.last?.total == 300_000)
      #expect(seen.map(\.received) == seen.map(\.received).sorted())
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["file"])
    }
  }

  @Test("an interrupted download continues from its position")
  func goesOn() async throws {
    let origin = Origin()
    origin.state.withLock { $0.cuts = [50_000, 100_000] }
    try await withOrigin(origin) { client, path, _ in
      try await client.download("http://device/f", to: path, reporting: Self.breaking(origin))
      #expect(try content(of: path) == origin.state.withLock { $0.content })
      let ranges = origin.state.withLock { $0.ranges }
      #expect(ranges.count == 3 && ranges[0] == "-" && ranges[1...].allSatisfy { $0.hasPrefix("bytes=") })
    }
  }

  @Test("a download is abandoned if the content differs each time")
  func everChanging() async throws {
    let origin = Origin()
    origin.state.withLock {
      $0.changes = true
      $0.cuts = (0..<100).map { 1 + $0 % 2 }
    }
    try await withOrigin(origin) { client, path, _ in
      await #expect(throws: BywayError.self) {
        try await client.download("http://device/f", to: path, reporting: Self.breaking(origin))
      }
      #expect(origin.state.withLock { $0.ranges.count } <= 6)
    }
  }

  @Test(
    "content that has changed, and a partial file of another URL, are downloaded from the start and not mixed",
    arguments: [("http://device/f", "0", "bytes=1000-"), ("http://device/other", "1", "-")])
  func startsOver(_ url: String, _ tag: String, _ range: String) async throws {
    let origin = Origin()
    try await withOrigin(origin) { client, path, _ in
      try leave(Data(repeating: 9, count: 1000), of: url, tag: tag, at: path)
      try await client.download("http://device/f", to: path)
      #expect(origin.state.withLock { $0.ranges } == [range])
      #expect(try content(of: path) == origin.state.withLock { $0.content })
    }
  }

  @Test("a partial file of an earlier process is continued")
  func continued() async throws {
    let origin = Origin()
    try await withOrigin(origin) { client, path, _ in
      let content = origin.state.withLock { $0.content }
      try leave(Data(content[..<200_000]), of: "http://device/f", tag: "1", at: path)
      let first = Mutex<BywayClient.DownloadProgress?>(nil)
      try await client.download("http://device/f", to: path) { report in
        first.withLock { $0 = $0 ?? report }
      }
      #expect(origin.state.withLock { $0.ranges } == ["bytes=200000-"])
      #expect(first.withLock { $0?.received ?? 0 } > 200_000)
      #expect(first.withLock { $0?.total } == 300_000)
      #expect(try self.content(of: path) == content)
    }
  }

  @Test("a partial file of another version is not continued, whatever the origin answers")
  func otherVersion() async throws {
    let origin = Origin()
    origin.state.withLock {
      $0.fields = [.eTag: "\"2\""]
      $0.heedsIfRange = false
    }
    try await withOrigin(origin) { client, path, _ in
      try leave(Data(repeating: 9, count: 1000), of: "http://device/f", tag: "1", at: path)
      try await client.download("http://device/f", to: path)
      #expect(origin.state.withLock { $0.ranges } == ["bytes=1000-", "-"])
      #expect(try content(of: path) == origin.state.withLock { $0.content })
    }
  }

  @Test("an absurd total length does not end the download")
  func absurdLength() async throws {
    let origin = Origin()
    origin.state.withLock {
      $0.cuts = [10]
      $0.pretendedLength = .max
    }
    try await withOrigin(origin) { client, path, _ in
      let content = origin.state.withLock { $0.content }
      try leave(Data(content[..<1000]), of: "http://device/f", tag: "1", at: path)
      try await client.download("http://device/f", to: path, reporting: Self.breaking(origin))
      #expect(origin.state.withLock { $0.ranges } == ["bytes=1000-", "bytes=1010-"])
      #expect(try self.content(of: path) == content)
    }
  }

  @Test("an interrupted download without a validator fails, and keeps the existing file")
  func noValidator() async throws {
    let origin = Origin()
    origin.state.withLock {
      $0.fields = [.eTag: "W/\"weak\""]
      $0.cuts = [1000]
    }
    try await withOrigin(origin) { client, path, _ in
      try Data("old".utf8).write(to: URL(fileURLWithPath: path))
      await #expect(throws: BywayError.self) {
        try await client.download("http://device/f", to: path, reporting: Self.breaking(origin))
      }
      #expect(try content(of: path) == Array("old".utf8))
      try await client.download("http://device/f", to: path)
      #expect(origin.state.withLock { $0.ranges } == ["-", "-"])
      #expect(try content(of: path).count == 300_000)
    }
  }

  @Test("a response without success is an error with its status, and so is an unwritable folder")
  func refused() async throws {
    let origin = Origin()
    try await withOrigin(origin) { client, path, folder in
      let error = await #expect(throws: BywayError.self) {
        try await client.download("http://device/f", to: folder["none/file"])
      }
      #expect(error?.message.contains(folder["none/file"]) == true)
      #expect(error?.code == .uncreatableFile)
    }
  }

  @Test("a file that cannot be written and a path in use are reported as local errors")
  func unwritable() async throws {
    let origin = Origin()
    try await withOrigin(origin) { client, path, _ in
      let victim = path + ".victim"
      try "precious".write(toFile: victim, atomically: false, encoding: .utf8)
      try FileManager.default.createSymbolicLink(atPath: path + ".part", withDestinationPath: victim)
      let planted = await #expect(throws: BywayError.self) { try await client.download("http://device/f", to: path) }
      #expect(planted?.code == .uncreatableFile, "\(planted as Any)")
      #expect(planted?.message.contains("symbolic link") == true, "\(planted as Any)")
      #expect(try String(contentsOfFile: victim, encoding: .utf8) == "precious")
      try FileManager.default.removeItem(atPath: path + ".part")
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      let taken = await #expect(throws: BywayError.self) { try await client.download("http://device/f", to: path) }
      #expect(taken?.code == .unwritableFile, "\(taken as Any)")
    }
  }
}
