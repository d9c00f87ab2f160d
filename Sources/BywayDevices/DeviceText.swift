import BywayPrimitives

/// A text about a device for users, usually its title: one line of at most 128 characters, without control characters for terminals or
/// pages.
package struct DeviceText: Sendable, Hashable {
  /// The limit in Unicode scalars, because a visible character can consist of any number of them.
  package static let maximumLength = 128

  package let text: String

  /// Returns `nil` if it is empty, too long, or has control characters.
  package init?(_ text: some StringProtocol) {
    let scalars = text.unicodeScalars
    guard scalars.count <= Self.maximumLength, !scalars.contains(where: \.isObeyed) else { return nil }
    self.init(claimed: text)
  }

  /// Returns the most similar valid text for a claim. `nil` if nothing of it can be shown.
  package init?(claimed text: some StringProtocol) {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      // Blanks are kept only between words, one at a time.
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

  /// Whether it is invisible, or exceeds two marks on one letter.
  fileprivate func isUnseen(after scalars: String.UnicodeScalarView) -> Bool {
    properties.generalCategory == .format || properties.isDefaultIgnorableCodePoint
      || isMark && scalars.suffix(2).count { $0.isMark } == 2
  }
}

extension DeviceText: CustomStringConvertible {
  package var description: String { text }
}
