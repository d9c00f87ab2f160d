import Byway
import BywayGateway
import LineEmulation
import LineLayer
import TestTools
import Testing

@testable import BywayDoctor

/// Lines with a gateway at the far end: sound, noisy, broken in one direction.
@Suite("Doctor: lines with a gateway", .timeLimit(.minutes(2))) struct LineDoctorTests {
  private func expect(
    _ fault: Fault?, _ rig: LineRig, origin: Origin = .handler { _ in Response(status: .ok) },
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
    "a sound line is called sound, also at an unusual rate and at a slow one",
    arguments: [115_200, 250_000, 9600, 1200])
  func sound(_ baud: Int) async throws { try await expect(nil, LineRig(LineConfiguration(baud: baud))) }

  @Test("a boot log that came before is not held against it")
  func bootLog() async throws {
    let rig = try LineRig()
    let log = (0..<60).map { "[    0.\(100_000 + $0)] Booting Linux, and saying so at length\r\n" }.joined()
    let device = try DeviceFile(rig.folder["b"])
    device.write(log)
    try await expect(nil, rig)
  }

  @Test("a device that boots while it is asked is heard out")
  func booting() async throws {
    let cut = ForeignLogLine(every: .milliseconds(700), text: "[    1.000] a boot log goes on for a while\r\n")
    try await expect(nil, LineRig(LineConfiguration(), back: LineConfiguration(faults: [cut])))
  }

  @Test("a gateway without its origin")
  func noOrigin() async throws {
    let rig = try LineRig()
    try await expect(.noOrigin, rig, origin: Origin("unix:\(rig.folder["nothing"])"))
  }

  @Test("one bit in a thousand arrives wrong", arguments: [true, false])
  func noise(_ towardsGateway: Bool) async throws {
    let bad = LineConfiguration(faults: [BitFlips(rate: 1e-3)])
    let good = LineConfiguration()
    try await expect(.noisyLine, towardsGateway ? LineRig(bad, back: good) : LineRig(good, back: bad))
  }

  @Test("one byte in a hundred is lost")
  func lost() async throws {
    try await expect(.noisyLine, LineRig(LineConfiguration(faults: [DroppedBytes(rate: 0.01)])))
  }

  @Test("a wire that is broken, either one", arguments: [true, false])
  func oneDirection(_ towardsGateway: Bool) async throws {
    let dead = LineConfiguration(faults: [DroppedBytes(rate: 1)])
    let good = LineConfiguration()
    try await expect(.silence, towardsGateway ? LineRig(dead, back: good) : LineRig(good, back: dead))
  }

  @Test("bytes that arrive as at another rate")
  func garbled() async throws {
    let bad = LineConfiguration(faults: [BitFlips(rate: 0.4)])
    let chatter = LineConfiguration(faults: [ForeignLogLine(every: .milliseconds(100)), BitFlips(rate: 0.4)])
    try await expect(.onlyNoise, LineRig(bad, back: chatter))
  }

  @Test("another client at the far end")
  func bothDial() async throws {
    let rig = try LineRig()
    let client = BywayClient(try LineRig.transports.link(rig.far))
    let pings = Task { try? await client.ping() }
    let report = try await rig.examine()
    #expect(report.expects(.bothDial), "\(report.json)")
    pings.cancel()
    await client.shutDown()
  }

  @Test("the examination leaves the port as it was, and the question leaves a session at the far end alone")
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

  @Test("questions are lost where a later one is answered, and those that nobody has answered yet are not")
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
    // Asked once more, one at a time; the answer to an earlier one that comes late counts.
    let second = series.next() ?? []
    #expect(HeardFrames(second).frames.count == 1)
    series.hear(answer(first, but: [0, 1, 2, 3]))
    #expect(series.lost == 2 && series.answered == 3 && series.settled == 5)
    var fences = 0
    while series.next() != nil { fences += 1 }
    #expect(fences == 3)
  }

  @Test("the question is answered by a listener that has a session, and the session goes on")
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

  @Test("it can be interrupted, and closes what it has opened")
  func interrupted() async throws {
    let rig = try LineRig()
    let device = try DeviceFile(rig.folder["a"])
    device.makeCooked()
    let before = device.settings
    let examination = Task { try await rig.examine() }
    try await Task.sleep(for: .milliseconds(300))
    examination.cancel()
    let report = try await examination.value
    guard case .unfinished = report.verdict else { Issue.record("\(report.json)"); return }
    #expect(report.duration < .seconds(3))
    #expect(device.settings == before)
  }
}
