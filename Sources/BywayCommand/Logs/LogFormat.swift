import ArgumentParser
import Glibc
import Primitives

/// How the lines of a daemon's log look.
enum LogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
  /// For people.
  case text
  /// One object for each line.
  case json
  /// Text without a time, behind the priority as systemd reads it (sd-daemon(3)).
  case journal

  /// What suits standard error: the journal, where systemd says that it is that (systemd.exec(5), `$JOURNAL_STREAM`).
  static var usual: LogFormat {
    leadsToJournal(Environment["JOURNAL_STREAM"] ?? "", STDERR_FILENO) ? .journal : .text
  }

  /// - Parameter stream: device and inode of the journal's stream.
  static func leadsToJournal(_ stream: String, _ descriptor: CInt) -> Bool {
    guard let file = try? FileStatus(of: descriptor).identity else { return false }
    return stream == "\(file.device):\(file.inode)"
  }
}
