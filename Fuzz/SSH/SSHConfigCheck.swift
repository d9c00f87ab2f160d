public import FuzzSupport
import SSHTransport

/// The properties of any ssh_config. The first line is a host's name, and a path with tokens to expand.
public enum SSHConfigCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    var values = ConfigValues()
    let lines = input.split(separator: 0x0A, omittingEmptySubsequences: false)
    guard let first = lines.first else { return }
    let alias = String(decoding: first, as: UTF8.self)
    for text in lines.dropFirst() {
      let line: ConfigLine?
      do {
        line = try ConfigLine(String(decoding: text, as: UTF8.self))
      } catch {
        continue
      }
      guard let line else { continue }
      try check(line)
      if line.keyword == "host" { try check(alias, patterns: line.words) }
      let before = values
      if (try? values.take(line)) != true { try expect(values == before, "a line that is refused changes something") }
    }
    let tokens = TokenExpansion(tokens: ["h": "host", "%": "never"]) { $0 == "HOME" ? "/home/me" : nil }
    if let path = tokens.expand(alias), !alias.contains("%"), !alias.contains("$") {
      try expect(path == alias, "\(alias) has no token and becomes \(path)")
    }
  }

  /// Checks that the words of a line mean the same in quotes.
  private static func check(_ line: ConfigLine) throws(Violation) {
    let quoted = line.words.map { word in
      "\"" + word.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
    let text = "Keyword " + quoted.joined(separator: " ")
    guard let reread = try? ConfigLine(text) else { throw Violation("cannot be read: \(text)") }
    try expect(reread.words == line.words, "\(line.words) is read again as \(reread.words)")
  }

  private static func check(_ name: String, patterns: [String]) throws(Violation) {
    let isMatched = PatternList.matches(name, patterns)
    try expect(!PatternList.matches(name, patterns + ["!*"]), "matches what is taken back: \(patterns)")
    if !patterns.contains(where: { $0.hasPrefix("!") }) {
      try expect(PatternList.matches(name, patterns + ["*"]), "the star does not match \(name)")
      let others = patterns.reversed()
      try expect(PatternList.matches(name, others) == isMatched, "the order counts: \(patterns)")
    }
  }
}
