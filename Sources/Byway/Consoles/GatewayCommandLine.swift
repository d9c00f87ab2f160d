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
  ///
  /// The first keys of a login end it, Ctrl-U and Return: a copy that was interrupted has left it running. `command` keeps a shell running
  /// whose eval finds a damaged line.
  static let loop =
    #"u=$(printf "\025" 2>/dev/null || echo none); while IFS= read -r l; do case $l in *"$u") break;; esac; command eval "$l"; done"#

  /// The settings of the terminal for the loop, in addition to raw ones. Return ends a line. After 25 s of silence the
  /// loop reads an end of input, so that no shell of a user who has left stays open.
  static let loopMode = "icrnl min 0 time 255"
}
