import BywayPrimitives

/// The options of a link that lead through a console to a gateway: `login=USER` and `shell=COMMAND`.
package struct ConsoleSettings: Sendable, Equatable {
  /// The variable that holds the password unless the link names another.
  package static let passwordVariable = "BYWAY_LINK_PASSWORD"
  private static let longestCommand = 1000

  /// The user that logs in; `nil` where a shell answers without a login.
  package var user: String?
  /// The command that serves, without the part that names its link.
  package var command: String
  package var passwordVariable: String
  /// Whether a terminal may lie between this end and the shell.
  var isTerminal: Bool
  /// The rate of the line in bits per second; `nil` if unknown.
  var baud: Int?

  /// The first word of the command, for messages.
  package var program: Substring { command.split(separator: " ").first ?? "" }

  /// - Returns: `nil` if the link leads to a gateway directly.
  /// - Throws: ``BywayError`` with code `invalidAddress`.
  init?(_ address: LinkAddress, opening: Link.Opening?, line: LineProperties?) throws {
    let user = address[option: "login"]
    let shell = address[option: "shell"]
    let variable = address[option: "login-password"]
    guard user != nil || shell != nil else {
      guard variable == nil else { throw Self.invalid("login-password= needs login=USER.") }
      return nil
    }
    guard opening != .listen else {
      throw Self.invalid("A link that waits for the far end cannot log in: leave out open=listen.")
    }
    if let user,
      user.isEmpty || user.utf8.count > 64 || !user.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) || user.hasPrefix("-")
    {
      throw Self.invalid("login= needs the name of a user, for example login=root.")
    }
    if let shell,
      shell.utf8.count > Self.longestCommand || !shell.utf8.contains(where: { $0 > 0x20 })
        || shell.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F })
    {
      throw Self.invalid("shell= needs a command of at most \(Self.longestCommand) characters on one line.")
    }
    if let variable, !variable.hasPrefix("env:") || variable.utf8.count < 5 {
      throw Self.invalid(
        "login-password= takes env:NAME, the environment variable that holds the password, not the password itself.")
    }
    self.user = user
    command = shell ?? GatewayCommandLine.standard
    passwordVariable = variable.map { String($0.dropFirst(4)) } ?? Self.passwordVariable
    isTerminal = user != nil || address.scheme != "exec"
    baud = line?.bytesPerSecond.map { $0 * 10 }
  }

  private static func invalid(_ message: String) -> BywayError { BywayError(.invalidAddress, message) }
}
