import ArgumentParser
import BywayDaemon
import BywayGateway
import BywayProxy

extension LogFormat {
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
}
