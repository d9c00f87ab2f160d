import BywayHTTPWire
import NIOCore
import TestWire
import Testing

@testable import Byway

/// Recorded phases of an exchange on a wire at 115,200 baud in virtual time, compared with the times at the server.
@Suite("Phases on the wire, in virtual time", .timeLimit(.minutes(1))) struct WirePhasesTests {
  /// The time at which the server received each request.
  private final class Arrivals {
    var rig: LineRig?
    private(set) var times: [String: NIODeadline] = [:]

    func note(_ path: String) { times[path] = rig?.loop.now }
  }

  /// A request that is under way, or over.
  private struct Run {
    let path: String
    let response: RiggedResponse
    let observed: ObservedExchange
  }

  private static let rate = 11.52
  private static let thinking = TimeAmount.milliseconds(100)

  private let arrivals = Arrivals()
  private let line: UpstreamOnLine

  init() throws {
    line = try UpstreamOnLine(wireRate: Self.rate) { [arrivals] in arrivals.note($0) }
    arrivals.rig = line.rig
    line.answer = .answers(after: Self.thinking)
  }

  private func begin(_ path: String, _ method: String = "GET", isComplete: Bool = true) throws -> Run {
    var fields: FieldSection = [":method": "\(method)", ":scheme": "http", ":authority": "device", ":path": "\(path)"]
    let observation = try #require(Observation(ofClient: [RecordingObserver()]))
    let observed = observation.begin(&fields, .http2, isComplete: isComplete)
    let head = ExchangeHead(fields: fields, isComplete: isComplete, observed: observed)
    return Run(path: path, response: line.begin(head), observed: observed)
  }

  /// Returns the difference in milliseconds; positive if the first time is later.
  private func milliseconds(_ later: NIODeadline?, _ earlier: NIODeadline?) throws -> Double {
    try Double((#require(later) - #require(earlier)).nanoseconds) / 1e6
  }

  private func finish(_ run: Run) throws {
    try line.rig.run(for: .seconds(10)) { run.response.isOver }
    #expect(run.response.status == "200")
  }

  @Test("on an idle line, the recorded arrival and response are within 3 ms of those at the server")
  func idle() throws {
    for number in 0..<12 {
      let run = try begin("/\(number)")
      try finish(run)
      let (wire, seen) = (run.observed.record.wire, arrivals.times[run.path])
      #expect(try abs(milliseconds(wire.arrived, seen)) <= 3, "request \(number)")
      #expect(try abs(milliseconds(wire.replied, seen) - 100) <= 3, "request \(number)")
      #expect(try abs(milliseconds(wire.left, run.observed.record.sent)) <= 3, "request \(number)")
      // Until the next request, the line is at rest.
      try line.rig.run(for: .milliseconds(Int64(137 * number % 400)))
    }
  }

  @Test("behind an upload, a request is recorded as queued, and its recorded arrival is within 5 ms")
  func upload() throws {
    line.answer = .hangs
    let upload = try begin("/upload", "POST", isComplete: false)
    let request = try #require(upload.response.request)
    request.write(ByteBuffer(repeating: 9, count: 40_000))
    request.finish(trailers: nil)
    try line.rig.run(for: .milliseconds(500))
    #expect(arrivals.times["/upload"] != nil)
    line.answer = .answers(after: Self.thinking)
    for number in 0..<8 {
      let run = try begin("/\(number)")
      try finish(run)
      let wire = run.observed.record.wire
      #expect(try abs(milliseconds(wire.arrived, arrivals.times[run.path])) <= 5, "request \(number)")
      #expect(try milliseconds(wire.left, run.observed.record.sent) >= 5, "request \(number)")
      #expect(upload.observed.record.wire.arrived == nil)
    }
    try line.rig.run(for: .seconds(10)) { upload.observed.record.wire.arrived != nil }
    let uploading = try milliseconds(upload.observed.record.wire.arrived, upload.observed.record.sent)
    #expect((40_000 / Self.rate...50_000 / Self.rate).contains(uploading), "\(uploading) ms")
    upload.response.cancel()
  }
}
