import ArgumentParser
import BywayDaemon
import BywayDaemonProcess
import BywayGateway
import BywayProxy

extension LogFormat {
  /// Sets the format that the arguments ask for, so that errors of a daemon's start have it, even those in the arguments. A check
  /// writes text.
  static func beginDaemon(_ arguments: [String]) {
    guard let command = arguments.first, [Gateway.kind, Proxy.kind].contains(command) else { return }
    if !arguments.contains("--check") { LogLevels.set(asked(in: arguments) ?? .usual) }
  }
}
