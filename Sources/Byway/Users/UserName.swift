import Primitives

/// The name of somebody who uses a proxy, whatever tells it: a certificate, a file of passwords, or a reverse proxy.
///
/// Two spellings of the same characters are one name, as text is compared here (Unicode's canonical equivalence; RFC 8265 §3.3 asks
/// for it). Case counts.
package struct UserName: Sendable, Hashable {
  /// In bytes.
  package static let maximumLength = 128
  /// For messages.
  package static let rule =
    "at most \(maximumLength) bytes of characters that can be seen, single blanks between them, and none of : = , * # among them"

  package let text: String

  /// `nil` for what is not a name.
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
  /// Who reads the name sees it, and no file or list of names takes it for something else.
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
