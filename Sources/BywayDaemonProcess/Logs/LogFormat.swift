import BywayLibC
import BywayPrimitives

/// The format of the lines of a daemon's log.
package enum LogFormat: String, CaseIterable, Sendable {
  /// Text for people.
  case text
  /// A JSON object for each line.
  case json
  /// Text without a time, after the priority in systemd's form (sd-daemon(3)).
  case journal

  /// The format that suits standard error: journal, if systemd says that it leads there (systemd.exec(5), `$JOURNAL_STREAM`).
  package static var usual: LogFormat {
    leadsToJournal(Environment["JOURNAL_STREAM"] ?? "", STDERR_FILENO) ? .journal : .text
  }

  /// - Parameter stream: The device and inode of the journal's stream.
  static func leadsToJournal(_ stream: String, _ descriptor: CInt) -> Bool {
    guard let file = try? FileStatus(of: descriptor).identity else { return false }
    return stream == "\(file.device):\(file.inode)"
  }
}
