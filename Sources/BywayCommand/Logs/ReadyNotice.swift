import Primitives

/// That a service serves from now on, and where: whatever the log's level, because somebody waits for it.
struct ReadyNotice: Sendable {
  /// As in "gateway hall ready on unix:/run/hall.sock".
  let words: String
  /// The same for programs.
  let facts: [(name: String, value: String)]
  /// In place of ``words`` where others read it: in a journal.
  var publicWords: String?

  /// - Parameter time: of the event, where its format has one.
  func bytes(_ format: LogFormat, at time: WallTime) -> [UInt8] {
    switch format {
    case .text: Array("byway: \(words.visible)\n".utf8)
    case .journal: line(publicWords ?? words, [], time).bytes(format)
    case .json: line("Ready", facts, time).bytes(format)
    }
  }

  private func line(_ message: String, _ facts: [(name: String, value: String)], _ time: WallTime) -> LogLine {
    LogLine(time: time, level: .notice, label: "byway", message: message, metadata: facts)
  }
}
