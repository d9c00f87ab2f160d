import ArgumentParser
import BywayGateway
import BywayProxy
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

  /// Errors of a daemon's start, which may be in its arguments, are lines of the format that these ask for. A check is for people.
  static func beginDaemon(_ arguments: [String]) {
    guard let command = arguments.first, [Gateway.kind, Proxy.kind].contains(command) else { return }
    if !arguments.contains("--check") { LogLevels.set(asked(in: arguments) ?? .usual) }
  }

  /// The last counts, as the parser has it.
  private static func asked(in arguments: [String]) -> LogFormat? {
    let option = "--log-format"
    let values = arguments.indices.compactMap { index in
      if arguments[index].hasPrefix("\(option)=") {
        String(arguments[index].dropFirst(option.count + 1))
      } else if arguments[index] == option, index + 1 < arguments.count {
        arguments[index + 1]
      } else {
        nil as String?
      }
    }
    return values.last.flatMap(LogFormat.init)
  }

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
