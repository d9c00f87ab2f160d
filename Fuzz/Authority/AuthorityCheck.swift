import BywayHTTPWire
public import FuzzSupport

/// The properties of any authority, and of any pair of them.
public enum AuthorityCheck {
  public static func check(_ input: [UInt8]) throws(Violation) {
    let halves = input.split(separator: 0x0A, maxSplits: 1, omittingEmptySubsequences: false)
    let read = try halves.map { half throws(Violation) in try check(one: Array(half)) }
    guard read.count == 2, let left = read[0], let right = read[1] else { return }
    // Comparing texts and comparing values give the same result.
    try expect((left == right) == (left.description == right.description), "\(left) and \(right)")
    try expect((left.host == right.host) == (left.host.text == right.host.text), "\(left.host) and \(right.host)")
  }

  private static func check(one bytes: [UInt8]) throws(Violation) -> Authority? {
    let text = String(decoding: bytes, as: UTF8.self)
    let authority = read(text)
    let isFieldText = bytes.withUnsafeBytes { FieldGrammar.isAuthority($0) }
    guard let authority else { return nil }
    try expect(bytes.elementsEqual(text.utf8) && isFieldText, "the grammar of HTTP knows no \(text)")
    try expect(read(authority.description) == authority, "\(text) is read again as \(authority)")
    let isPlain = authority.description.utf8.allSatisfy {
      (0x21...0x7E).contains($0) && !"/?#@\\%\"<>".utf8.contains($0)
    }
    try expect(isPlain && authority.description.utf8.count <= 253 + 8, "no host is called \(authority)")
    for text in [authority.host.text, authority.host.bracketed] {
      try expect((try? Host(text)) == authority.host, "\(text) alone is another host")
    }
    for scheme in ["http", "https", nil] {
      let short = read(authority.text(for: scheme))
      try expect(short?.host == authority.host, "\(authority) in a URL is \(String(describing: short))")
      try expect(short?.port(for: scheme) == authority.port(for: scheme), "\(authority) in a URL has another port")
    }
    return authority
  }

  private static func read(_ text: String) -> Authority? {
    try? Authority(text)
  }
}
