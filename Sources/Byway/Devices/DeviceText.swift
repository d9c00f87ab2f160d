import Primitives

/// What people read of a device: its title, above all. On one line, at most 128 characters, and nothing that a terminal or a page
/// would obey.
package struct DeviceText: Sendable, Hashable {
  /// Unicode scalars, because of what people take for one character there can be any number.
  package static let maximumLength = 128

  package let text: String

  /// `nil` where it is empty, too long, or has characters that are not shown but obeyed.
  package init?(_ text: some StringProtocol) {
    let scalars = text.unicodeScalars
    guard scalars.count <= Self.maximumLength, !scalars.contains(where: \.isObeyed) else { return nil }
    self.init(claimed: text)
  }

  /// The nearest to what somebody says of himself. `nil` where nothing of it can be shown.
  package init?(claimed text: some StringProtocol) {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      // Blanks stand between words, and nowhere else.
      let isBlank = scalar.properties.isWhitespace
      if isBlank ? scalars.isEmpty || scalars.last == " " : scalar.isObeyed || scalar.isUnseen(after: scalars) {
        continue
      }
      guard scalars.count < Self.maximumLength else { break }
      scalars.append(isBlank ? " " : scalar)
    }
    if scalars.last == " " { scalars.removeLast() }
    guard scalars.contains(where: { !$0.isMark }) else { return nil }
    self.text = String(scalars)
  }
}

extension Unicode.Scalar {
  fileprivate var isMark: Bool {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .spacingMark: true
    default: false
    }
  }

  /// Nobody could tell that it is there, or it is one of many marks on one letter.
  fileprivate func isUnseen(after scalars: String.UnicodeScalarView) -> Bool {
    properties.generalCategory == .format || properties.isDefaultIgnorableCodePoint
      || isMark && scalars.suffix(2).count { $0.isMark } == 2
  }
}

extension DeviceText: CustomStringConvertible {
  package var description: String { text }
}
