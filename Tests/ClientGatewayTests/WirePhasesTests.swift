import Byway
import BywayGateway
import HTTPTypes
import LineDevices
import LineEmulation
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

  /// Whether most differences are small. A busy machine delays threads sometimes, but a defect shows always.
  private func isOftenClose(_ differences: [Double?], _ limit: Double = 5) -> Bool {
    let close = differences.count { $0.map { abs($0) <= limit } ?? false }
    return close * 4 >= differences.count && close > 1
  }

  @Test(
    "on an idle line the phases match: up until the gateway has the request, its own time, down for the bytes")
  func idle() async throws {
    var carried: [Int] = []
    try await run { client, line in
      for number in 0..<12 {
        let before = line.counters(from: .b).delivered
        _ = try await client.get("http://device/\(number)").body.collect(upTo: 10_000)
        carried.append(line.counters(from: .b).delivered - before)
      }
    }
    // The first requests open the link.
    let records = observer.heard.ended.dropFirst(2)
    let visits = records.map { record in record.path.flatMap { visitRecorder.visit($0) } }
    let arrived = zip(records, visits).map { milliseconds($0.wire.arrived, $1?.begun) }
    let replied = zip(records, visits).map { milliseconds($0.wire.replied, $1?.answered) }
    let queued = records.map { milliseconds($0.wire.left, $0.sent) }
    let down = zip(records, carried.dropFirst(2)).map { record, bytes in
      milliseconds(record.ended, record.wire.replied).map { $0 - Double(bytes) / 11.52 }
    }
    #expect(isOftenClose(arrived), "\(arrived)")
    #expect(isOftenClose(replied), "\(replied)")
    #expect(isOftenClose(queued), "\(queued)")
    #expect(isOftenClose(down, 10), "\(down)")
  }

  @Test("with an upload on the line, a small request is queued, and its recorded arrival at the gateway is right")
  func behindUpload() async throws {
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
    let arrived = records.map { record in
      milliseconds(record.wire.arrived, record.path.flatMap { visitRecorder.visit($0)?.begun })
    }
    let queued = records.compactMap { milliseconds($0.wire.left, $0.sent) }.sorted()
    #expect(isOftenClose(arrived), "\(arrived)")
    #expect(queued.count == 8 && queued[6] >= 5, "\(queued)")
  }
}
