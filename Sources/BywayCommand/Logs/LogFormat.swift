import ArgumentParser
import BywayGateway
import BywayLibC
import BywayPrimitives
import BywayProxy

/// The format of the lines of a daemon's log.
enum LogFormat: String, ExpressibleByArgument, CaseIterable, Sendable {
  /// Text for people.
  case text
  /// A JSON object for each line.
  case json
  /// Text without a time, after the priority in systemd's form (sd-daemon(3)).
  case journal

  /// Sets the format that the arguments ask for, so that errors of a daemon's start have it, even those in the arguments. A check
  /// writes text.
  static func beginDaemon(_ arguments: [String]) {
    guard let command = arguments.first, [Gateway.kind, Proxy.kind].contains(command) else { return }
    if !arguments.contains("--check") { LogLevels.set(asked(in: arguments) ?? .usual) }
  }

  /// Returns the last value, which counts for the parser as well.
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

  /// The format that suits standard error: journal, if systemd says that it leads there (systemd.exec(5), `$JOURNAL_STREAM`).
  static var usual: LogFormat {
    leadsToJournal(Environment["JOURNAL_STREAM"] ?? "", STDERR_FILENO) ? .journal : .text
  }

  /// - Parameter stream: The device and inode of the journal's stream.
  static func leadsToJournal(_ stream: String, _ descriptor: CInt) -> Bool {
    guard let file = try? FileStatus(of: descriptor).identity else { return false }
    return stream == "\(file.device):\(file.inode)"
  }
}
