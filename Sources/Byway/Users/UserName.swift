import BywayPrimitives

/// The name of a user of a proxy, from a certificate, a password file, or a reverse proxy.
///
/// Canonically equivalent spellings are one name, as in Swift's text comparison (RFC 8265 §3.3 requires it). Case matters.
package struct UserName: Sendable, Hashable {
  /// The limit in bytes.
  package static let maximumLength = 128
  /// The rule in messages.
  package static let rule =
    "at most \(maximumLength) bytes of visible characters, single blanks between them, and none of : = , * # among them"

  package let text: String

  /// Returns `nil` for an invalid name.
  package init?(_ text: some StringProtocol) {
    guard (1...Self.maximumLength).contains(text.utf8.count) else { return nil }
    var last: Unicode.Scalar = " "
    for scalar in text.unicodeScalars {
      guard scalar == " " ? last != " " : scalar.mayStandInName else { return nil }
      last = scalar
    }
    guard last != " " else { return nil }
    self.text = String(text)
  }
}

extension UserName: CustomStringConvertible {
  package var description: String { text }
}

extension Unicode.Scalar {
  /// Whether it is visible in a name, and has no special meaning in files or lists of names.
  fileprivate var mayStandInName: Bool {
    switch self {
    case ":", "=", ",", "*", "#": false
    case "!"..."~": true
    case _ where value < 0xA0: false
    default:
      !isObeyed && !properties.isWhitespace && !properties.isDefaultIgnorableCodePoint
        && ![.format, .privateUse, .surrogate, .unassigned].contains(properties.generalCategory)
    }
  }
}
