import Primitives

/// The notice that a service serves from now on, and where. It is written at each level of the log, because a user waits for it.
struct ReadyNotice: Sendable {
  /// As in "gateway hall ready on unix:/run/hall.sock".
  let words: String
  /// The same for programs.
  let facts: [(name: String, value: String)]
  /// In place of ``words`` where others may read it: in a journal, a file or a pipe.
  var publicWords: String?

  /// - Parameters:
  ///   - time: of the event, where its format has one.
  ///   - isSeen: it goes to a terminal, which only its user sees.
  func bytes(_ format: LogFormat, at time: WallTime, isSeen: Bool) -> [UInt8] {
    switch format {
    case .text: Array("byway: \((isSeen ? words : publicWords ?? words).visible)\n".utf8)
    case .journal: line(publicWords ?? words, [], time).bytes(format)
    case .json: line("Ready", facts, time).bytes(format)
    }
  }

  private func line(_ message: String, _ facts: [(name: String, value: String)], _ time: WallTime) -> LogLine {
    LogLine(time: time, level: .notice, label: "byway", message: message, metadata: facts)
  }
}
