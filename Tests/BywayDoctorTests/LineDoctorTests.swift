import Byway
import BywayGateway
import BywayLineEmulation
import BywayLineLayer
import TestTools
import Testing

@testable import BywayDoctor

/// Lines with a gateway at the far end: good, noisy, or broken in one direction.
@Suite("Doctor: serial lines with a gateway", .timeLimit(.minutes(2))) struct LineDoctorTests {
  private func expect(
    _ fault: LinkFault?, _ rig: LineRig, origin: Origin = .handler { _ in Response(status: .ok) },
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let gateway = try await rig.gateway(origin: origin)
    let report = try await rig.examine()
    #expect(report.expects(fault), "\(report.json)", sourceLocation: sourceLocation)
    #expect(report.duration < .seconds(20), sourceLocation: sourceLocation)
    await gateway.stop(within: .zero)
    rig.line.close()
  }

  @Test(
    "the doctor reports a good line as sound, also at an unusual rate and at a slow one",
    arguments: [115_200, 250_000, 9600, 1200])
  func sound(_ baud: Int) async throws { try await expect(nil, LineRig(LineConfiguration(baud: baud))) }

  @Test("the doctor ignores a boot log that arrived before the examination")
  func bootLog() async throws {
    let rig = try LineRig()
    let log = (0..<60).map { "[    0.\(100_000 + $0)] Booting Linux, and saying so at length\r\n" }.joined()
    let device = try DeviceFile(rig.folder["b"])
    device.write(log)
    try await expect(nil, rig)
  }

  @Test("the doctor waits for a device that boots during the examination")
  func booting() async throws {
    let cut = ForeignLogLine(every: .milliseconds(700), text: "[    1.000] a boot log goes on for a while\r\n")
    try await expect(nil, LineRig(LineConfiguration(), back: LineConfiguration(faults: [cut])))
  }

  @Test("the doctor reports a gateway whose origin is unreachable")
  func noOrigin() async throws {
    let rig = try LineRig()
    try await expect(.noOrigin, rig, origin: Origin("unix:\(rig.folder["nothing"])"))
  }

  @Test("the doctor reports a line that corrupts one bit in a thousand", arguments: [true, false])
  func noise(_ towardsGateway: Bool) async throws {
    let bad = LineConfiguration(faults: [BitFlips(rate: 1e-3)])
    let good = LineConfiguration()
    try await expect(.noisyLine, towardsGateway ? LineRig(bad, back: good) : LineRig(good, back: bad))
  }

  @Test("the doctor reports a line that loses one byte in a hundred")
  func lost() async throws {
    try await expect(.noisyLine, LineRig(LineConfiguration(faults: [DroppedBytes(rate: 0.01)])))
  }

  @Test("the doctor reports a broken wire in either direction", arguments: [true, false])
  func oneDirection(_ towardsGateway: Bool) async throws {
    let dead = LineConfiguration(faults: [DroppedBytes(rate: 1)])
    let good = LineConfiguration()
    try await expect(.silence, towardsGateway ? LineRig(dead, back: good) : LineRig(good, back: dead))
  }

  @Test("the doctor reports a mismatched baud rate")
  func garbled() async throws {
    let bad = LineConfiguration(faults: [BitFlips(rate: 0.4)])
    let chatter = LineConfiguration(faults: [ForeignLogLine(every: .milliseconds(100)), BitFlips(rate: 0.4)])
    try await expect(.onlyNoise, LineRig(bad, back: chatter))
  }

  @Test("the doctor reports another client at the far end")
  func bothDial() async throws {
    let rig = try LineRig()
    let client = BywayClient(try LineRig.transports.link(rig.far))
    let pings = Task { try? await client.ping() }
    let report = try await rig.examine()
    #expect(report.expects(.bothDial), "\(report.json)")
    pings.cancel()
    await client.shutDown()
  }

  @Test("the examination restores the port's settings, and does not disturb a session at the far end")
  func undisturbed() async throws {
    let rig = try LineRig()
    let gateway = try await rig.gateway()
    let device = try DeviceFile(rig.folder["a"])
    device.makeCooked()
    let before = device.settings
    let report = try await rig.examine()
    #expect(report.expects(nil), "\(report.json)")
    #expect(device.settings == before)
    await gateway.stop(within: .zero)
  }

  @Test("an unanswered query counts as lost only once a later query is answered")
  func lateAnswers() {
    func answer(_ questions: [UInt8], but left: Set<Int>) -> [UInt8] {
      var scratch: [UInt8] = []
      var bytes: [UInt8] = []
      for (index, frame) in HeardFrames(questions).frames.enumerated() where !left.contains(index) {
        guard case .poll(let session, _) = frame else { continue }
        FrameCodec.encode(.reset(session: session, reason: .unknown), seal: nil, scratch: &scratch, into: &bytes)
      }
      return bytes
    }
    var series = QuestionSeries()
    let first = series.next() ?? []
    series.hear(answer(first, but: [1, 3, 4]))
    #expect(series.lost == 1 && series.answered == 2 && series.settled == 3)
    // Queried once more, one at a time; a late answer to an earlier query counts.
    let second = series.next() ?? []
    #expect(HeardFrames(second).frames.count == 1)
    series.hear(answer(first, but: [0, 1, 2, 3]))
    #expect(series.lost == 2 && series.answered == 3 && series.settled == 5)
    var fences = 0
    while series.next() != nil { fences += 1 }
    #expect(fences == 3)
  }

  @Test("a listener with an open session answers the query, and the session continues")
  func question() {
    var listener = LineLayer(.listener(incarnation: 7), configuration: .defaults, at: 0)
    var output: [UInt8] = []
    var scratch: [UInt8] = []
    var open: [UInt8] = [0]
    let id = SessionID(session: 1, incarnation: 7)
    FrameCodec.encode(
      .open(version: FrameCodec.version, session: id, largestPayload: 2048, window: 256), seal: nil, scratch: &scratch,
      into: &open)
    listener.receive(open, at: 1)
    while listener.nextTransmit(at: 2_000_000_000, into: &output) {}
    #expect(listener.hasSession)
    output = []
    listener.receive(LineQuestion().bytes, at: 2_000_000_001)
    while listener.nextTransmit(at: 4_000_000_000, into: &output) {}
    #expect(HeardFrames(output).helloVersion == FrameCodec.version)
    var series = QuestionSeries()
    output = []
    for time in 1...QuestionSeries.window {
      let at = UInt64(4_000_000_000 + time * 100_000_000)
      if time == 1, let questions = series.next() { listener.receive(questions, at: at) }
      while listener.nextTransmit(at: at, into: &output) {}
    }
    series.hear(output)
    #expect(series.answered == QuestionSeries.window && series.lost == 0)
    #expect(listener.hasSession)
    while let event = listener.nextEvent() { if case .ended = event { Issue.record("\(event)") } }
  }

  @Test("an interrupted examination closes the port")
  func interrupted() async throws {
    let rig = try LineRig()
    let device = try DeviceFile(rig.folder["a"])
    device.makeCooked()
    let before = device.settings
    let examination = Task { try await rig.examine() }
    #expect(try await eventually { device.settings != before })
    examination.cancel()
    let report = try await examination.value
    guard case .unfinished = report.verdict else { Issue.record("\(report.json)"); return }
    #expect(report.duration < Examination.limit)
    #expect(device.settings == before)
  }
}
