import Byway
import Glibc

/// Names and passwords by host, from a file of the form that `curl --netrc-file` and ftp read.
struct LoginFile: Sendable {
  private static let limit = 1 << 20

  /// In lower case; `nil`: any host.
  private let entries: [(host: String?, credentials: Authenticate.Credentials)]

  /// Blocks.
  /// - Throws: ``BywayError`` where it cannot be read, others may read it, or a word of it means nothing.
  init(_ path: String) throws {
    let file = try OpenFile(path)
    guard file.permissions & 0o077 == 0 else {
      throw Self.failure("Others may read \(path), which holds passwords: run chmod 600 \(path).")
    }
    guard file.size <= Self.limit else {
      throw Self.failure("\(path) is larger than 1 MiB: that is no file of logins.")
    }
    try self.init(parsing: file.size == 0 ? "" : String(buffer: file.readAll()), path: path)
  }

  init(parsing text: String, path: String) throws {
    var entries: [(String?, Authenticate.Credentials)] = []
    var words = LoginWords(text)
    func value(of word: String, line: Int) throws -> String {
      guard let value = words.next() else { throw Self.failure("\(path), line \(line): nothing follows \"\(word)\".") }
      return value.text
    }
    var entry: (host: String?, user: String?, password: String?)?
    func finish() {
      // Without a password it is for programs that ask for one.
      guard let found = entry.take(), let password = found.password else { return }
      entries.append((found.host?.lowercased(), .init(user: found.user ?? "", password: password)))
    }
    while let word = words.next() {
      switch word.text {
      case "machine":
        finish()
        entry = (try value(of: word.text, line: word.line), nil, nil)
      case "default":
        finish()
        entry = (nil, nil, nil)
      case "login" where entry != nil: entry?.user = try value(of: word.text, line: word.line)
      case "password" where entry != nil: entry?.password = try value(of: word.text, line: word.line)
      case "account" where entry != nil: _ = try value(of: word.text, line: word.line)
      case "macdef": words.skipParagraph()
      default:
        // Not the word itself: it may be a password that stands in the wrong place.
        throw Self.failure(
          "\(path), line \(word.line): write machine HOST login NAME password PASSWORD, or default in the place of machine HOST."
        )
      }
    }
    finish()
    self.entries = entries
  }

  /// The first entry that fits counts.
  func credentials(for host: String) -> Authenticate.Credentials? {
    entries.first { $0.host == nil || $0.host == host }?.credentials
  }

  private static func failure(_ message: String) -> BywayError {
    BywayError(.invalidRequest, message, processing: .none)
  }
}

/// The words of the file: separated by white space, in double quotes where they hold some.
private struct LoginWords {
  private var rest: Substring
  private var line = 1

  init(_ text: String) {
    rest = text[...]
  }

  mutating func next() -> (text: String, line: Int)? {
    while let character = rest.first {
      if character == "#" {
        rest = rest.drop { !$0.isNewline }
      } else if character.isWhitespace {
        take()
      } else {
        break
      }
    }
    guard let first = rest.first else { return nil }
    let start = line
    var word = ""
    let isQuoted = first == "\""
    if isQuoted { take() }
    while let character = rest.first {
      if isQuoted ? character == "\"" : character.isWhitespace { break }
      if isQuoted, character == "\\" {
        take()
        guard rest.first != nil else { break }
      }
      word.append(take())
    }
    if isQuoted, !rest.isEmpty { take() }
    return (word, start)
  }

  /// A macro ends with an empty line.
  mutating func skipParagraph() {
    var isLineEmpty = false
    while let character = rest.first {
      take()
      if character.isNewline, isLineEmpty { return }
      isLineEmpty = character.isNewline
    }
  }

  @discardableResult private mutating func take() -> Character {
    let character = rest.removeFirst()
    if character.isNewline { line += 1 }
    return character
  }
}
