import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal

/// A question for the password of a login at a console, on the terminal of this process.
enum PasswordPrompt {
  private static let longest = 1024

  /// Asks for the password of a link that logs in, if it is not known and there is a terminal. The link fails later if it needs one.
  static func ask(for link: Link) {
    guard let console = link.console, let user = console.user,
      ConsolePasswords.password(of: link.address, console) == nil
    else { return }
    guard let password = read("Password of \(user) at \(link.address.publicName): ") else { return }
    ConsolePasswords.remember(password, of: link.address, console)
  }

  /// Reads a line from the terminal without an echo; `nil` if there is no terminal, or nothing is typed.
  private static func read(_ question: String) -> String? {
    guard isatty(STDIN_FILENO) == 1, isatty(STDERR_FILENO) == 1 else { return nil }
    // The echo comes back even if a signal, such as that of Ctrl-C, ends the process.
    EchoGuard.begin(on: STDIN_FILENO)
    defer {
      EchoGuard.restore()
      StandardStream.error.writeText("\n")
    }
    StandardStream.error.writeText(question)
    guard let line = readLine(), !line.isEmpty, line.utf8.count <= longest else { return nil }
    return line
  }
}
