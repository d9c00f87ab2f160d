/// A line of ssh_config(5), split into its keyword and its words.
package struct ConfigLine: Equatable {
  /// The reason why a line is invalid: a clause that follows the line's place and a colon.
  package struct Problem: Error {
    let message: String
  }

  /// The keyword in lower case.
  package let keyword: String
  /// The keyword as written.
  let spelling: String
  package let words: [String]

  /// `nil` for a blank line and for a comment.
  package init?(_ text: some StringProtocol) throws(Problem) {
    var rest = text.utf8.drop(while: Self.isSpace)[...]
    guard let first = rest.first, first != UInt8(ascii: "#") else { return nil }
    let isQuoted = first == UInt8(ascii: "\"")
    if isQuoted { rest = rest.dropFirst() }
    let name = rest.prefix { isQuoted ? $0 != UInt8(ascii: "\"") : !Self.isSpace($0) && $0 != UInt8(ascii: "=") }
    rest = rest.dropFirst(name.count + (isQuoted ? 1 : 0)).drop(while: Self.isSpace)
    // One equals sign, with or without spaces around it, may stand between keyword and words.
    if rest.first == UInt8(ascii: "=") { rest = rest.dropFirst() }
    spelling = String(decoding: name, as: UTF8.self)
    keyword = spelling.lowercased()
    words = try Self.split(rest)
  }

  /// Quotes of both kinds keep spaces; a backslash keeps a quote, a backslash, and a space outside quotes; a word that
  /// begins with `#` begins a comment.
  private static func split(_ text: some Sequence<UInt8>) throws(Problem) -> [String] {
    let text = Array(text)
    var words: [String] = []
    var word: [UInt8]?
    var quote: UInt8?
    var at = 0
    while at < text.count {
      let byte = text[at]
      at += 1
      switch (byte, quote) {
      case (UInt8(ascii: "\\"), _) where at < text.count && isEscapable(text[at], inQuotes: quote != nil):
        word = (word ?? []) + [text[at]]
        at += 1
      case (let byte, let open?) where byte == open:
        quote = nil
      case (UInt8(ascii: "\""), nil), (UInt8(ascii: "'"), nil):
        quote = byte
        word = word ?? []
      case (let byte, nil) where isSpace(byte):
        if let word { words.append(String(decoding: word, as: UTF8.self)) }
        word = nil
      case (UInt8(ascii: "#"), nil) where word == nil:
        return words
      default:
        word = (word ?? []) + [byte]
      }
    }
    if quote != nil { throw Problem(message: "a quotation mark is not closed") }
    if let word { words.append(String(decoding: word, as: UTF8.self)) }
    return words
  }

  private static func isEscapable(_ byte: UInt8, inQuotes: Bool) -> Bool {
    switch byte {
    case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "'"): true
    default: byte == UInt8(ascii: " ") && !inQuotes
    }
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == 0x20 || (0x09...0x0D).contains(byte)
  }
}
