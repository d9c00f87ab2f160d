import Byway
import LineLayer

/// How many bytes arrive damaged or not at all, each way: a question again and again, for a short while.
///
/// A POLL of a session that was never begun, which a listener answers with a RESET and forgets (docs/wire-protocol.md, section 8). Its
/// answer names the session, so that each question is known to be answered or lost.
struct NoiseCheck: Check {
  static let title = "noise"

  private static let time = Duration.milliseconds(1800)
  /// Where both ends share a processor with others, fewer questions fit into that.
  private static let leastQuestions = 150
  private static let mostTime = Duration.milliseconds(4500)
  /// Errors in a million bytes from which on it is worth a word.
  private static let noticeable = 500
  private static let leastRate = 100
  /// On the wire, with the delimiter; a question has another before it.
  private static let frameLength = 12

  let ear: LineEar
  /// From a question to its answer.
  let delay: Duration
  let bytesPerSecond: Int?

  var limit: Duration { .seconds(7) }

  func examine(_ belongings: Belongings) async throws -> Finding<Void> {
    if let bytesPerSecond, bytesPerSecond < Self.leastRate {
      return .undecided("At \(bytesPerSecond) bytes in a second it would take too long to count errors.")
    }
    var series = QuestionSeries()
    let start = ContinuousClock.now
    while !Task.isCancelled {
      let elapsed = ContinuousClock.now - start
      if elapsed > Self.mostTime || elapsed > Self.time && series.settled >= Self.leastQuestions { break }
      guard let questions = series.next() else { break }
      ear.say(questions)
      let enough = series
      series.hear(await ear.listen(for: patience) { enough.isMovedOn(by: $0) })
    }
    return Self.conclusion(of: series, bytesPerSecond: bytesPerSecond)
  }

  /// For an answer that comes at all.
  private var patience: Duration {
    let wire = bytesPerSecond.map { Duration.milliseconds(QuestionSeries.window * 40 * 1000 / max($0, 1)) } ?? .zero
    return max(delay * 3, .milliseconds(250)) + wire
  }

  static func conclusion(of series: QuestionSeries, bytesPerSecond: Int?) -> Finding<Void> {
    guard series.settled > 0 else {
      return .undecided("The far end leaves the question unanswered by which errors are counted.")
    }
    let damaged = min(series.heard.damagedRuns.count, series.lost)
    let interrupted = min(series.heard.interruptedRuns, series.lost - damaged)
    let lost = series.lost - damaged - interrupted
    let toFarEnd = LineNoise(frameBytes: frameLength + 1, frames: series.settled, lost: lost)
    let toHere = LineNoise(frameBytes: frameLength, frames: series.settled - lost, lost: damaged)
    let others = interrupted > 0 ? " Somebody else writes on the line as well." : ""
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
    let rate = bytesPerSecond.map { ", which is \($0 * share / 100) bytes in a second" } ?? ""
    return Diagnosis(
      .noisyLine,
      "The line is noisy (\(errors) errors in a million bytes): expect about \(share) % of its rate\(rate). A shorter or shielded "
        + "cable, a common ground, or half the rate at both ends makes it better.")
  }
}
