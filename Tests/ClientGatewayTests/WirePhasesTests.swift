import Byway
import BywayGateway
import BywayLineDevices
import BywayLineEmulation
import HTTPTypes
import NIOCore
import SerialTransport
import Synchronization
import TestTools
import TestWire
import Testing

/// Recorded phases of an exchange, compared with the times that the gateway at the other end of the line has seen.
@Suite("Phases on the wire", .serialized, .timeLimit(.minutes(1))) struct WirePhasesTests {
  /// A record of requests at the gateway with the times of its responses.
  private final class VisitRecorder: Sendable {
    struct Visit {
      let begun: NIODeadline
      var answered: NIODeadline?
    }

    private let visits = Mutex<[String: Visit]>([:])

    func visit(_ path: String) -> Visit? { visits.withLock { $0[path] } }
    func begin(_ path: String) { visits.withLock { $0[path] = Visit(begun: .now()) } }
    func answer(_ path: String) { visits.withLock { $0[path]?.answered = .now() } }
  }

  private let visitRecorder = VisitRecorder()
  private let observer = RecordingObserver()

  /// Runs requests over a line whose handler needs 100 ms for each.
  private func run(_ body: (BywayClient, PseudoTerminalLine) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let line = try PseudoTerminalLine(
      LineConfiguration(baud: 115_200), paths: (folder["near"], folder["far"]), observer: { _ in })
    let transports = TransportRegistry([SerialTransport()])
    let gateway = try await Gateway.start(
      GatewayConfiguration(
        links: [try transports.link("serial:\(folder["far"])?baud=115200")],
        origin: .handler { [visitRecorder] request in
          let path = request.head.path ?? ""
          let asked = try await request.body.collect(upTo: 1 << 20)
          visitRecorder.begin(path)
          // Real time: the tests compare it with the recorded phases.
          try await Task.sleep(for: .milliseconds(100))
          visitRecorder.answer(path)
          return Response(status: .ok, body: Body(ByteBuffer(repeating: 7, count: asked.readableBytes > 0 ? 1 : 2000)))
        }))
    var configuration = BywayClient.Configuration.defaults
    configuration.observers = [observer]
    let client = BywayClient(try transports.link("serial:\(folder["near"])?baud=115200"), configuration: configuration)
    try await body(client, line)
    await client.shutDown()
    await gateway.stop(within: .seconds(5))
  }

  private func milliseconds(_ later: NIODeadline?, _ earlier: NIODeadline?) -> Double? {
    guard let later, let earlier else { return nil }
    return Double((later - earlier).nanoseconds) / 1e6
  }

  /// Checks that each phase is recorded, and that none begins before the one before it. Their accuracy is tested in virtual time: how late the
  /// threads of both ends run on a busy machine is not known to the line.
  private func expectOrder(_ record: ExchangeRecord) throws {
    let wire = record.wire
    let times = [record.sent, wire.left, wire.arrived, wire.replied, record.ended].compactMap(\.self)
    #expect(times.count == 5 && times == times.sorted(), "\(times)")
    // The other end has the request before its handler runs, unless that is the clock's resolution.
    let visit = try #require(record.path.flatMap { visitRecorder.visit($0) })
    let handling = try #require(milliseconds(visit.answered, visit.begun))
    #expect(try #require(milliseconds(record.ended, wire.arrived)) >= handling)
  }

  @Test("each exchange on an idle line has the phases of the wire, in their order") func idle() async throws {
    try await run { client, _ in
      for number in 0..<6 { _ = try await client.get("http://device/\(number)").body.collect(upTo: 10_000) }
    }
    // The first requests open the link.
    for record in observer.heard.ended.dropFirst(2) { try expectOrder(record) }
  }

  @Test("with an upload on the line, a small request is recorded as queued") func behindUpload() async throws {
    try await run { client, line in
      _ = try await client.get("http://device/first").body.collect(upTo: 10_000)
      let before = line.counters(from: .a).sent
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          let body = Body(ByteBuffer(repeating: 9, count: 40_000))
          _ = try await client.execute(Request(.post, url: "http://device/upload", body: body)).body.collect(upTo: 10)
        }
        #expect(try await eventually { line.counters(from: .a).sent > before + 5000 })
        for number in 0..<8 { _ = try await client.get("http://device/\(number)").body.collect(upTo: 10_000) }
        try await group.waitForAll()
      }
    }
    let records = observer.heard.ended.filter { $0.method == "GET" }.dropFirst()
    for record in records { try expectOrder(record) }
    let queued = records.compactMap { milliseconds($0.wire.left, $0.sent) }.sorted()
    #expect(queued.count == 8 && queued[6] >= 5, "\(queued)")
  }
}
