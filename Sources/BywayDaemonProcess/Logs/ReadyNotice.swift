import BywayPrimitives

/// The notice that a service is ready, and where. It is written at each log level, because a user waits for it.
package struct ReadyNotice: Sendable {
  /// The notice as text, as in "gateway hall ready on unix:/run/hall.sock".
  package let words: String
  /// The same facts for programs.
  package let facts: [(name: String, value: String)]
  /// The text in place of ``words`` if others may read it: in a journal, a file or a pipe.
  var publicWords: String?

  package init(words: String, facts: [(name: String, value: String)], publicWords: String? = nil) {
    self.words = words
    self.facts = facts
    self.publicWords = publicWords
  }

  /// - Parameters:
  ///   - time: The time of the event, for formats that have one.
  ///   - isSeen: Whether it goes to a terminal, which only its user sees.
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
