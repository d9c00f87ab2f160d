import Byway
import BywayLibC
import BywayTerminal

/// A question to the user at the terminal.
enum Confirmation {
  /// - Returns: Whether the answer was yes.
  /// - Throws: ``CommandFailure`` if there is no terminal.
  static func ask(_ question: String) throws(CommandFailure) -> Bool {
    guard isatty(STDIN_FILENO) == 1 else {
      throw CommandFailure(
        .usage, "\(question) There is no terminal to ask at: compare the fingerprint, then add --yes.")
    }
    StandardStream.error.writeText("\(question) [y/N] ")
    let answer = readLine()?.lowercased() ?? ""
    return ["y", "yes"].contains(answer)
  }
}
