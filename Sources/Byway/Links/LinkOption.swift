/// An option of a link address, for checks and for help.
public struct LinkOption: Sendable, Hashable {
  /// The name as written in an address: `mode`.
  public var name: String
  /// A phrase: "permission bits of the socket file, in octal".
  public var help: String

  /// Creates an option with its help.
  public init(_ name: String, _ help: String) {
    self.name = name
    self.help = help
  }

  /// The options of every link, read by the core.
  package static let common: [LinkOption] = [
    LinkOption("http", "2 if a gateway is at the far end (the default), 1.1 if it is an ordinary HTTP/1.1 server"),
    LinkOption("line", "baud rate of a serial line at the end of the stream, behind a terminal server for example"),
    LinkOption("open", "dial or listen: what this end does. By default a gateway listens, and everything else dials"),
    LinkOption(
      "login", "user that logs in at the far end, if it is a console: this end then starts the gateway there"),
    LinkOption(
      "login-password", "variable with that user's password, as env:NAME; otherwise BYWAY_LINK_PASSWORD, or a prompt"),
    LinkOption(
      "shell", "command that a shell at the far end runs as the gateway, which then uses the shell's terminal"),
    LinkOption(
      "jitter", "maximum of the random wait in seconds before a gateway dials a lost link again; 1 over a network"),
  ]
}
