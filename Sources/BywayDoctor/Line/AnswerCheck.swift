import Byway
import BywayLineLayer

/// Checks that a gateway answers a question at the link's rate.
struct AnswerCheck: LinkCheck {
  enum Answer: Sendable {
    /// - Parameter after: the time from the question to its answer, including their time on the wire.
    case gateway(after: Duration)
    /// All bytes that were received instead.
    case somebodyElse(heard: [UInt8])
  }

  static let title = "answer"

  /// The maximum number of questions, unless the line is too slow: with noise, some are lost.
  private static let mostTries = 6
  private static let time = Duration.milliseconds(4000)
  /// The time limit while other bytes arrive, such as a boot log: the answer may have to wait for their end.
  private static let mostPatience = Duration.seconds(3)

  let rawLine: RawLine
  let question: LineQuestion
  let bytesPerSecond: Int?

  var limit: Duration { .seconds(7) }

  /// The time for a question and its answer on the wire, and for the peer to answer.
  private var pause: Duration {
    max(.milliseconds(250), .milliseconds(50 * 1000 / max(bytesPerSecond ?? .max, 1)))
  }

  private var tries: Int { max(2, min(Self.mostTries, Int(Self.time / pause))) }

  func examine(_ resources: OpenedResources) async throws -> Finding<Answer> {
    let start = ContinuousClock.now
    let before = await LineInstruments.read(from: rawLine.channel)
    var heard: [UInt8] = []
    var asked = 0
    while true {
      try Task.checkCancellation()
      let askedAt = ContinuousClock.now
      if asked < tries { rawLine.say(question.bytes) }
      asked += 1
      let known = heard
      let more = await rawLine.listen(for: pause) { HeardFrames(known + $0).isTelling }
      heard += more
      let frames = HeardFrames(heard)
      if frames.isTelling { return await conclude(heard, after: ContinuousClock.now - askedAt) }
      let isOver = asked >= tries && more.isEmpty
      if isOver || ContinuousClock.now - start > Self.mostPatience { return await missing(heard, since: before) }
    }
  }

  /// - Parameter delay: the time since the last question, which may not be the one that was answered.
  private func conclude(_ first: [UInt8], after delay: Duration) async -> Finding<Answer> {
    var frames = HeardFrames(first)
    // An echo comes first; an answer may follow.
    if frames.sessions.contains(question.session) { frames.hear(await rawLine.listen(for: .milliseconds(300))) }
    if let version = frames.helloVersion, version != FrameCodec.version { return foreign("version \(version)") }
    if frames.hasReset(question.session, .version) { return foreign("another version") }
    let isEchoed = frames.sessions.contains(question.session)
    if frames.helloVersion != nil {
      guard isEchoed else {
        return .sound(
          "A gateway answers after \(delay.inMilliseconds) ms, in version \(FrameCodec.version) of the line protocol.",
          .gateway(after: delay))
      }
      return .wrong(
        Diagnosis(
          .localEcho,
          "A gateway answers, but all sent bytes come back too: switch off the echo of the adapter (common with RS-485), or of "
            + "the terminal server."))
    }
    if isEchoed {
      return .wrong(
        Diagnosis(
          .loopBack,
          "All sent bytes come back unchanged, without an answer: a loop-back plug, TX and RX wires that touch, or a program "
            + "that copies. Connect the device, and start \"byway gateway\" there."))
    }
    return .wrong(
      Diagnosis(
        .bothDial,
        "The far end dials too, so neither end answers: run \"byway gateway\" there without open=dial, not a proxy or a request, or "
          + "add open=listen to the link at one end.")
    )
  }

  private func foreign(_ version: String) -> Finding<Answer> {
    .wrong(
      Diagnosis(
        .foreignVersion,
        "The far end speaks \(version) of the line protocol, and this is version \(FrameCodec.version): install the same release "
          + "of byway at both ends."))
  }

  private func missing(_ heard: [UInt8], since before: LineInstruments) async -> Finding<Answer> {
    var what = heard.isEmpty ? "nothing arrives" : "\(heard.count) bytes arrive, without an answer"
    if let after = await LineInstruments.read(from: rawLine.channel).receiveErrors, let before = before.receiveErrors,
      after.framing > before.framing || after.parity > before.parity
    {
      what +=
        " (\(after.framing - before.framing) framing errors and \(after.parity - before.parity) of parity, as with another rate)"
    }
    return .undecided("Asked \(tries) times for a gateway: \(what).", .somebodyElse(heard: heard))
  }
}

extension HeardFrames {
  /// Whether it has a frame that no other program sends by chance.
  fileprivate var isTelling: Bool {
    frames.contains { frame in
      switch frame {
      case .hello, .open: true
      case .reset(_, let reason): reason == .version || reason == .bothDial
      case .poll, .acknowledgement, .noise, .data: false
      }
    }
  }
}
