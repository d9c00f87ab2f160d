import BywayPrimitives

/// The command lines that are typed at a shell. The only place in a library that names options of the command, because it runs the command.
package enum GatewayCommandLine {
  /// The command without a link, where the address has no `shell=COMMAND`.
  static let standard = "byway gateway --origin http://127.0.0.1:80"
  /// The highest rate that a link takes: a line of unknown rate is not paced.
  private static let unpaced = 100_000_000
  /// Seconds without a session after which the gateway gives the console back.
  private static let linger = 60

  /// Returns the command with the link on which it serves, unless it names one.
  static func serving(_ settings: ConsoleSettings) -> String {
    guard !settings.command.contains("--link") else { return settings.command }
    let link = "stdio:?line=\(settings.baud ?? unpaced)&linger=\(linger)"
    return "\(settings.command) --link \(ShellWord.quoted(link))"
  }

  /// A loop that runs each line that arrives, without prompts and without an echo.
  static let loop = #"while IFS= read -r l; do eval "$l"; done"#
}
