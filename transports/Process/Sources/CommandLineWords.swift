import Byway

/// Splits a command into words as a POSIX shell does (XCU §2.2), with quotes and backslashes only. There are no variables,
/// globs, pipes or substitutions, so an address can never run more than the program that it names.
struct CommandLineWords {
  let words: [String]

  /// The program's name without its directory, for messages.
  var name: String { words[0].split(separator: "/").last.map(String.init) ?? words[0] }

  /// - Throws: ``BywayError`` with code `invalidAddress`.
  init(_ command: String) throws {
    var words: [String] = []
    var word: String?
    var rest = command[...]
    while let character = rest.popFirst() {
      switch character {
      case " ", "\t", "\n", "\r", "\r\n":
        if let done = word.take() { words.append(done) }
      case "'":
        guard let end = rest.firstIndex(of: "'") else { throw Self.unterminated("'", in: command) }
        word = (word ?? "") + rest[..<end]
        rest = rest[rest.index(after: end)...]
      case "\"":
        word = try (word ?? "") + Self.doubleQuoted(&rest, in: command)
      case "\\":
        guard let next = rest.popFirst() else {
          throw BywayError(.invalidAddress, "The command \(command) ends in a backslash: remove it, or double it.")
        }
        word = (word ?? "") + String(next)
      default:
        word = (word ?? "") + String(character)
      }
    }
    if let done = word { words.append(done) }
    guard let program = words.first, !program.isEmpty else {
      throw BywayError(.invalidAddress, "exec: has no command: write exec:COMMAND ARGUMENTS.")
    }
    guard !words.contains(where: { $0.utf8.contains(0) }) else {
      throw BywayError(.invalidAddress, "The command contains a zero byte, which no argument can have.")
    }
    self.words = words
  }

  /// Parses a quotation. A backslash quotes only characters that could end the quotation or have a meaning in a shell.
  private static func doubleQuoted(_ rest: inout Substring, in command: String) throws -> String {
    var text = ""
    while let character = rest.popFirst() {
      switch character {
      case "\"":
        return text
      case "\\":
        guard let next = rest.popFirst() else { throw unterminated("\"", in: command) }
        if !"\"\\$`".contains(next) { text.append("\\") }
        text.append(next)
      default:
        text.append(character)
      }
    }
    throw unterminated("\"", in: command)
  }

  private static func unterminated(_ quote: Character, in command: String) -> BywayError {
    BywayError(.invalidAddress, "The command \(command) has an opening \(quote) without a closing one.")
  }
}
