import Byway
import BywayDoctor
import BywayPrimitives
import BywayTerminal

/// A report as text.
struct DoctorText {
  /// The length of the longest title of a check, plus two spaces.
  private static let titleWidth = 14
  private static let markWidth = 7

  private let stream: StandardStream
  private let style: TextStyle

  init(_ stream: StandardStream) {
    self.stream = stream
    style = TextStyle(for: stream)
  }

  /// Writes a step as soon as it has a result.
  func write(_ step: LinkStep) throws {
    let (mark, colour) = mark(of: step)
    let words = Self.words(of: step).visible
    let title = Self.padded(step.title, to: Self.titleWidth)
    try stream.write("\(title)\(colour(Self.padded(mark, to: Self.markWidth)))\(words)\n")
  }

  /// Writes the last line.
  func write(_ report: Report) throws {
    try stream.write("\n\(style.bold(Self.lastLine(of: report).visible))\n")
  }

  /// Returns the last line. It does not repeat a remark, which stands in the line of its step.
  static func lastLine(of report: Report) -> String {
    guard case .noted(let diagnosis) = report.verdict else { return report.line }
    return "\(report.link) works, with the note above." + (diagnosis.commandLine.map { " Run: \($0)" } ?? "")
  }

  /// Returns the observation of a step. The last line tells what is wrong.
  static func words(of step: LinkStep) -> String {
    if case .wrong = step.outcome { return step.saw ?? "see below" }
    return [step.saw, step.diagnosis?.sentence].compactMap(\.self).joined(separator: " ")
  }

  private func mark(of step: LinkStep) -> (String, (String) -> String) {
    switch step.outcome {
    case .sound: ("ok", style.good)
    case .noted: ("note", style.accent)
    case .undecided: ("?", style.faint)
    case .wrong: ("wrong", style.bad)
    case .skipped: ("-", style.faint)
    }
  }

  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - text.count))
  }
}
