import Byway
import BywayDevices
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import Foundation
import HTTPTypes
import NIOCore
import SerialTransport
import Synchronization
import TestTools
import TestWire
import Testing
import UnixTransport

/// A device with two links over real sockets and an emulated line: two gateways in front of one origin.
@Suite("Fail-over between real links", .serialized, .timeLimit(.minutes(3))) struct LinkFailoverTests {
  /// The common origin of both gateways, which counts requests.
  private final class Origin: Sendable {
    struct State {
      /// The number of executions of each POST.
      var done: [String: Int] = [:]
      var ranges: [String] = []
    }

    let state = Mutex(State())
    let content = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 11) }

    func respond(to request: Request, from gateway: String) async throws -> Response {
      if request.head.path == "/file" { return file(request, gateway) }
      let path = request.head.path ?? ""
      if request.head.method == .post { state.withLock { $0.done[path, default: 0] += 1 } }
      return Response(status: .ok, fields: [.server: gateway], body: Body(path))
    }

    private func file(_ request: Request, _ gateway: String) -> Response {
      let range = request.head.headerFields[.range]
      state.withLock { $0.ranges.append("\(gateway) \(range ?? "-") \(request.head.headerFields[.ifRange] ?? "-")") }
      let start = range.flatMap { Int($0.dropFirst("bytes=".count).dropLast()) } ?? 0
      var fields: HTTPFields = [.eTag: "\"1\""]
      if range != nil { fields[.contentRange] = "bytes \(start)-\(content.count - 1)/\(content.count)" }
      return Response(
        status: range == nil ? .ok : .partialContent, fields: fields,
        body: Body(Slowly(rest: ByteBuffer(bytes: content[start...])), length: content.count - start))
    }
  }

  /// A body at 1 MB/s.
  private struct Slowly: AsyncSequence, Sendable {
    let rest: ByteBuffer

    struct AsyncIterator: AsyncIteratorProtocol {
      var rest: ByteBuffer

      mutating func next() async throws -> ByteBuffer? {
        // Real time: the rate of a body.
        try await Task.sleep(for: .milliseconds(20))
        return rest.readSlice(length: Swift.min(rest.readableBytes, 20_000)).flatMap { $0.readableBytes > 0 ? $0 : nil }
      }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: rest) }
  }

  private struct Outcome: Sendable {
    let isPost: Bool
    let path: String
    let begin: ContinuousClock.Instant
    let end: ContinuousClock.Instant
    let gateway: String?
    let error: BywayError?
  }

  private final class Load: Sendable {
    private let outcomes = Mutex<[Outcome]>([])

    var all: [Outcome] { outcomes.withLock { $0 } }

    func request(_ number: Int, with client: BywayClient) async {
      let isPost = number % 5 == 0
      let begin = ContinuousClock.now
      var gateway: String?
      var failure: BywayError?
      do {
        let response = try await client.execute(Request(isPost ? .post : .get, url: "http://device/\(number)"))
        let text = String(buffer: try await response.body.collect(upTo: 100))
        gateway = text == "/\(number)" ? response.fields[.server] : "a wrong answer: \(text)"
      } catch {
        failure = error as? BywayError ?? BywayError(.invalidRequest, "\(error)")
      }
      let outcome = Outcome(
        isPost: isPost, path: "/\(number)", begin: begin, end: .now, gateway: gateway, error: failure)
      outcomes.withLock { $0.append(outcome) }
    }
  }

  /// The most that fail-over and fail-back may take on a busy machine. Tests in virtual time show the documented 3 s and 10 s.
  private static let failover = Duration.seconds(9)
  private static let failback = Duration.seconds(20)

  private let origin = Origin()
  private let folder: TemporaryFolder
  private let transports = TransportRegistry([UnixTransport(), SerialTransport()])

  init() throws {
    folder = try TemporaryFolder()
  }

  private func gateway(_ name: String, at link: String) async throws -> Gateway {
    try await Gateway.start(
      GatewayConfiguration(
        links: [transports.link(link)],
        origin: .handler { [origin] in try await origin.respond(to: $0, from: name) }))
  }

  private func client(_ links: String...) throws -> BywayClient {
    BywayClient(try DeviceDirectory([], main: links.map { try transports.link($0) }))
  }

  @Test(
    "alternative links with another HTTP version, or on which the far end dials, are refused",
    arguments: [("unix:/a", "unix:/b?http=1.1", "http=1.1 for all"), ("unix:/a", "unix:/b?open=listen", "open=listen")])
  func impossible(_ first: String, _ second: String, _ words: String) throws {
    let error = #expect(throws: BywayError.self) { try client(first, second) }
    #expect(error?.code == .invalidAddress && error?.message.contains(words) == true, "\(error.debugDescription)")
  }

  /// A flag that is set once.
  private final class Once: Sendable {
    private let hasBegun = Mutex(false)

    /// Returns whether this is the first call.
    func begin() -> Bool {
      hasBegun.withLock { was in
        defer { was = true }
        return !was
      }
    }
  }

  // MARK: Sockets

  private func withLinks(_ body: (CuttableRelay, BywayClient) async throws -> Void) async throws {
    let first = try await gateway("first", at: "unix:\(folder["a"])")
    let second = try await gateway("second", at: "unix:\(folder["b"])")
    let relay = try await CuttableRelay(at: folder["link"], to: folder["a"])
    let client = try client("unix:\(folder["link"])", "unix:\(folder["b"])")
    do {
      try await body(relay, client)
    } catch {
      Issue.record(error)
    }
    await client.shutDown()
    await relay.stop()
    await first.stop(within: .zero)
    await second.stop(within: .zero)
  }

  @Test(
    "if a link fails and returns at 200 requests/s, no POST runs twice and no response is wrong",
    arguments: CuttableRelay.Cut.allCases)
  func load(_ kind: CuttableRelay.Cut) async throws {
    try await withLinks { relay, client in
      let load = Load()
      let (outage, repaired) = try await withThrowingTaskGroup(of: Void.self) { group in
        let begin = ContinuousClock.now
        let isOver = Mutex(false)
        group.addTask {
          await withTaskGroup(of: Void.self) { requests in
            for number in 1... {
              if isOver.withLock(\.self) { break }
              requests.addTask { await load.request(number, with: client) }
              // Real time: the rate of the load.
              try? await Task.sleep(until: begin + .milliseconds(5 * number))
            }
          }
        }
        defer { isOver.withLock { $0 = true } }
        #expect(try await eventually { load.all.count >= 200 })
        let cut = ContinuousClock.now
        await relay.cut(kind)
        #expect(
          try await eventually {
            load.all.contains { $0.begin > cut + .seconds(5) } && load.all.contains { $0.gateway == "second" }
          })
        let repair = ContinuousClock.now
        try await relay.repair()
        #expect(
          try await eventually { load.all.contains { $0.gateway == "first" && $0.begin > repair } }, "it is never back")
        let back = ContinuousClock.now
        #expect(try await eventually { load.all.contains { $0.begin > back + .seconds(1) } })
        return (cut, repair)
      }
      judge(load.all, cut: outage, repair: repaired, kind)
    }
  }

  private func judge(
    _ outcomes: [Outcome], cut: ContinuousClock.Instant, repair: ContinuousClock.Instant, _ kind: CuttableRelay.Cut
  ) {
    let (done, posts) = (origin.state.withLock(\.done), outcomes.filter(\.isPost))
    #expect(outcomes.count > 1000)
    for outcome in outcomes where outcome.error == nil {
      #expect(outcome.gateway == "first" || outcome.gateway == "second", "\(outcome)")
    }
    for outcome in outcomes where outcome.error != nil {
      #expect(outcome.isPost && outcome.error?.processing == .possible, "\(outcome)")
      #expect(outcome.begin < cut + Self.failover, "\(outcome)")
    }
    for post in posts { #expect(done[post.path, default: 0] <= 1 && (post.error != nil || done[post.path] == 1)) }
    let first = outcomes.filter { $0.gateway == "second" }.map(\.end).min() ?? cut + .seconds(99)
    let back = outcomes.filter { $0.gateway == "first" && $0.begin > repair }.map(\.end).min() ?? cut + .seconds(99)
    let failed = outcomes.count { $0.error != nil }
    print("\(kind): over after \(first - cut), back after \(back - repair); \(failed) of \(posts.count) POSTs failed")
    #expect(first - cut < Self.failover)
    #expect(back - repair < Self.failback)
  }

  @Test("a download continues over the other link", arguments: CuttableRelay.Cut.allCases)
  func download(_ kind: CuttableRelay.Cut) async throws {
    try await withLinks { relay, client in
      let isCut = Once()
      try await client.download("http://device/file", to: folder["file"]) { progress in
        guard progress.received > 500_000, isCut.begin() else { return }
        Task { await relay.cut(kind) }
      }
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder["file"])) == Data(origin.content))
      let ranges = origin.state.withLock { $0.ranges }
      #expect(ranges.count == 2 && ranges.first == "first - -")
      #expect(ranges.last?.hasPrefix("second bytes=") == true && ranges.last?.hasSuffix(" \"1\"") == true, "\(ranges)")
    }
  }

  // MARK: Serial line

  @Test("a download continues over a socket while the cable is pulled, and returns to the cable afterwards")
  func cable() async throws {
    let line = try PseudoTerminalLine(
      LineConfiguration(baud: 4_000_000), paths: (folder["near"], folder["far"]))
    let first = try await gateway("first", at: "serial:\(folder["far"])?baud=4000000")
    let second = try await gateway("second", at: "unix:\(folder["b"])")
    let client = try client("serial:\(folder["near"])?baud=4000000", "unix:\(folder["b"])")
    let isCut = Once()
    try await client.download("http://device/file", to: folder["file"]) { progress in
      guard progress.received > 200_000, isCut.begin() else { return }
      line.cut(.hangUp)
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: folder["file"])) == Data(origin.content))
    let ranges = origin.state.withLock { $0.ranges }
    #expect(ranges.map { $0.prefix { $0 != " " } } == ["first", "second"], "\(ranges)")
    line.restore()
    let repair = ContinuousClock.now
    #expect(try await eventually { try await client.get("http://device/x").fields[.server] == "first" })
    print("line: back after \(ContinuousClock.now - repair)")
    await client.shutDown()
    await first.stop(within: .zero)
    await second.stop(within: .zero)
    line.close()
  }
}
