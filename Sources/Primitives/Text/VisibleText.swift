extension String {
  /// The same text without anything that a terminal obeys, for whatever comes from outside and goes to a person: control
  /// characters of both sets (C0, C1), marks that change the direction of what follows, separators of lines.
  ///
  /// It stays on one line, so that nobody can write lines into a log that are not ours.
  package var visible: String {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
    return String(
      String.UnicodeScalarView(
        unicodeScalars.map { scalar in
          switch scalar {
          case "\t", "\n", "\r": " "
          case _ where scalar.isObeyed: "?"
          default: scalar
          }
        }))
  }
}

extension Unicode.Scalar {
  /// Terminals, and whatever else shows text, do something at it instead of showing it.
  package var isObeyed: Bool {
    switch value {
    case ..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    case ..<0x7F: false
    default: properties.isBidiControl
    }
  }
}
