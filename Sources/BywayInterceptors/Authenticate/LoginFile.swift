import Byway
import BywayHTTPWire
import BywayLibC
import BywayPrimitives

/// A file of names and passwords by host, in the form that `curl --netrc-file` and ftp read.
package struct LoginFile: Sendable {
  private static let limit = 1 << 20

  /// The hosts in the form of an authority; `nil` for any host.
  private let entries: [(host: String?, credentials: Authenticate.Credentials)]

  /// Reads the file. Blocks.
  /// - Throws: `BywayError` if the file cannot be read, other users may read it, or it contains an unknown word.
  init(_ path: String) throws {
    let file = try OpenFile(path)
    if let exposure = FileExposure(file.status, for: .group) {
      throw Self.unreadable("\(path) holds passwords: \(exposure).")
    }
    guard file.size <= Self.limit else {
      throw Self.unreadable("\(path) is larger than 1 MiB: that is not a file of logins.")
    }
    try self.init(parsing: file.size == 0 ? "" : String(buffer: file.readAll()), path: path)
  }

  package init(parsing text: String, path: String) throws {
    var entries: [(String?, Authenticate.Credentials)] = []
    var words = LoginWords(text)
    func value(of word: String, line: Int) throws -> String {
      guard let value = words.next() else { throw Self.failure("\(path), line \(line): nothing follows \"\(word)\".") }
      return value.text
    }
    var entry: (host: String?, user: String?, password: String?)?
    func finish() {
      // An entry without a password is for programs that ask for one.
      guard let found = entry.take(), let password = found.password else { return }
      entries.append(
        (found.host.map { (try? Host($0))?.bracketed ?? $0 }, .init(user: found.user ?? "", password: password)))
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
        // The message omits the word, which may be a misplaced password.
        throw Self.failure(
          "\(path), line \(word.line): write machine HOST login NAME password PASSWORD, or default in the place of machine HOST."
        )
      }
    }
    finish()
    self.entries = entries
  }

  /// Returns the credentials of the first entry that matches.
  package func credentials(for host: String) -> Authenticate.Credentials? {
    entries.first { $0.host == nil || $0.host == host }?.credentials
  }

  private static func failure(_ message: String) -> BywayError {
    BywayError(.invalidRequest, message, processing: .none)
  }

  private static func unreadable(_ message: String) -> BywayError {
    BywayError(.unreadableFile, message, processing: .none)
  }
}

/// The words of the file: separated by white space, and in double quotes if they contain some. It reads bytes, because Swift takes
/// a quote and an accent after it for one character that is not a quote.
private struct LoginWords {
  private var rest: ArraySlice<UInt8>
  private var line = 1

  init(_ text: String) {
    rest = Array(text.utf8)[...]
  }

  mutating func next() -> (text: String, line: Int)? {
    while let byte = rest.first {
      if byte == UInt8(ascii: "#") {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      } else if Self.isSpace(byte) {
        take()
      } else {
        break
      }
    }
    guard let first = rest.first else { return nil }
    let start = line
    var word: [UInt8] = []
    let quote = UInt8(ascii: "\"")
    let isQuoted = first == quote
    if isQuoted { take() }
    while let byte = rest.first {
      if isQuoted ? byte == quote : Self.isSpace(byte) { break }
      if isQuoted, byte == UInt8(ascii: "\\") {
        take()
        guard !rest.isEmpty else { break }
      }
      word.append(take())
    }
    if isQuoted, !rest.isEmpty { take() }
    return (String(decoding: word, as: UTF8.self), start)
  }

  /// Skips a macro, which ends with an empty line.
  mutating func skipParagraph() {
    var isLineEmpty = false
    while !rest.isEmpty {
      let byte = take()
      guard byte != UInt8(ascii: "\r") else { continue }
      let isEnd = byte == UInt8(ascii: "\n")
      if isEnd, isLineEmpty { return }
      isLineEmpty = isEnd
    }
  }

  @discardableResult private mutating func take() -> UInt8 {
    let byte = rest.removeFirst()
    if byte == UInt8(ascii: "\n") { line += 1 }
    return byte
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
