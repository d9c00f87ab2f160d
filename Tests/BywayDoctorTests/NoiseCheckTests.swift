import Byway
import BywayLineLayer
import Testing

@testable import BywayDoctor

/// Error counts in each direction, without a line.
@Suite("Doctor: line noise") struct NoiseCheckTests {
  /// The far end's answer to a query, as it arrives.
  private enum Answer {
    case sound
    /// The query did not arrive.
    case missing
    case damaged
    /// Some bytes of the answer are missing.
    case shortened
  }

  /// - Parameter second: the outcome of the second of every five queries.
  private func conclusion(_ second: Answer, rounds: Int = 40, bytesPerSecond: Int? = nil) -> Finding<Void> {
    var series = QuestionSeries()
    var scratch: [UInt8] = []
    for _ in 0..<rounds {
      var heard: [UInt8] = []
      for (index, frame) in HeardFrames(series.next() ?? []).frames.enumerated() {
        guard case .poll(let session, _) = frame else { continue }
        var bytes: [UInt8] = []
        FrameCodec.encode(.reset(session: session, reason: .unknown), seal: nil, scratch: &scratch, into: &bytes)
        switch index == 1 ? second : .sound {
        case .sound: heard += bytes
        case .missing: break
        // The frame's delimiter stays intact, and no damaged byte becomes one.
        case .damaged: heard += bytes.map { $0 == 0 ? 0 : $0 ^ 0x80 == 0 ? 0x81 : $0 ^ 0x80 }
        case .shortened: heard += bytes.dropFirst(3)
        }
      }
      series.hear(heard)
    }
    return NoiseCheck.conclusion(of: series, bytesPerSecond: bytesPerSecond)
  }

  @Test("the noise check reports a line without errors as sound")
  func sound() {
    guard case .sound(let saw, _) = conclusion(.sound) else { Issue.record("the line is not sound"); return }
    #expect(saw == "To the far end no errors in 2600 bytes, from there no errors in 2400 bytes.")
  }

  @Test("the noise check reports the direction in which errors occur")
  func eachDirection() {
    for (answer, words) in [
      (Answer.missing, ["To the far end 17164 errors", "from there no errors"]),
      (.damaged, ["To the far end no errors", "from there 18595 errors"]),
      (.shortened, ["To the far end no errors", "from there 18595 errors"]),
    ] {
      guard case .noted(let saw, let diagnosis, _) = conclusion(answer, bytesPerSecond: 10_000) else {
        Issue.record("\(answer) is not noted")
        continue
      }
      for word in words { #expect(saw.contains(word), "\(saw)") }
      #expect(diagnosis.fault == .noisyLine)
      // Wrong bytes can be corrected, and missing ones cannot.
      let share =
        answer == .shortened ? "about 42 % of its rate, which is 4200" : "about 88 % of its rate, which is 8800"
      #expect(diagnosis.sentence.contains(share), "\(diagnosis.sentence)")
    }
  }

  @Test("the noise check is undecided if the far end never answers")
  func silent() {
    guard case .undecided = conclusion(.sound, rounds: 0) else { Issue.record("the check is decided"); return }
  }
}
