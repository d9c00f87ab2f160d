import Byway
import BywayLineLayer

/// Measures the errors of a line in each direction, by many questions in a short time.
///
/// A question is a POLL of a session that was never begun, which a listener answers with a RESET and forgets (docs/wire-protocol.md,
/// section 8). The answer names the session, so each question is known to be answered or lost.
struct NoiseCheck: LinkCheck {
  static let title = "noise"

  private static let time = Duration.milliseconds(1800)
  /// The check takes longer than ``time`` to settle this many questions: on a busy processor, fewer fit into that time.
  private static let leastQuestions = 150
  private static let mostTime = Duration.milliseconds(4500)
  /// The number of errors in a million bytes above which the check notes a fault.
  private static let noticeable = 500
  private static let leastRate = 100
  /// The length of an answer on the wire, with its delimiter. A question has another delimiter before it.
  private static let frameLength = 12

  let rawLine: RawLine
  /// The time from a question to its answer.
  let delay: Duration
  let bytesPerSecond: Int?

  var limit: Duration { .seconds(7) }

  func examine(_ resources: OpenedResources) async throws -> Finding<Void> {
    if let bytesPerSecond, bytesPerSecond < Self.leastRate {
      return .undecided("At \(bytesPerSecond) bytes per second it would take too long to count errors.")
    }
    var series = QuestionSeries()
    let start = ContinuousClock.now
    while !Task.isCancelled {
      let elapsed = ContinuousClock.now - start
      if elapsed > Self.mostTime || elapsed > Self.time && series.settled >= Self.leastQuestions { break }
      guard let questions = series.next() else { break }
      rawLine.say(questions)
      let enough = series
      series.hear(await rawLine.listen(for: patience) { enough.isMovedOn(by: $0) })
    }
    return Self.conclusion(of: series, bytesPerSecond: bytesPerSecond)
  }

  /// How long to wait for an answer.
  private var patience: Duration {
    let wire = bytesPerSecond.map { Duration.milliseconds(QuestionSeries.window * 40 * 1000 / max($0, 1)) } ?? .zero
    return max(delay * 3, .milliseconds(250)) + wire
  }

  static func conclusion(of series: QuestionSeries, bytesPerSecond: Int?) -> Finding<Void> {
    guard series.settled > 0 else {
      return .undecided("The far end does not answer the questions by which errors are counted.")
    }
    let damaged = min(series.heard.damagedRuns.count, series.lost)
    let interrupted = min(series.heard.interruptedRuns, series.lost - damaged)
    let lost = series.lost - damaged - interrupted
    let toFarEnd = LineNoise(frameBytes: frameLength + 1, frames: series.settled, lost: lost)
    let toHere = LineNoise(frameBytes: frameLength, frames: series.settled - lost, lost: damaged)
    let others = interrupted > 0 ? " Another program writes on the line too." : ""
    let saw = "To the far end \(toFarEnd), from there \(toHere).\(others)"
    let worst = max(toFarEnd.perMillionBytes, toHere.perMillionBytes)
    guard worst > noticeable else { return .sound(saw) }
    let lengths = series.heard.damagedRuns.map(\.count)
    let shortened = lengths.count { $0 < frameLength - 1 }
    return .noted(
      saw, diagnosis(worst, bytesPerSecond, losesBytes: shortened > lengths.count { $0 == frameLength - 1 }))
  }

  private static func diagnosis(_ errors: Int, _ bytesPerSecond: Int?, losesBytes: Bool) -> Diagnosis {
    let share = LineNoise.goodput(ofErrors: errors, losesBytes: losesBytes)
    let rate = bytesPerSecond.map { ", which is \($0 * share / 100) bytes per second" } ?? ""
    return Diagnosis(
      .noisyLine,
      "The line is noisy (\(errors) errors in a million bytes): expect about \(share) % of its rate\(rate). A shorter or shielded "
        + "cable, a common ground, or half the rate at both ends makes it better.")
  }
}
