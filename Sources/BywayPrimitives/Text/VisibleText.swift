extension String {
  /// The text without characters that control a terminal, for text from outside that people see: control characters of both sets
  /// (C0, C1), marks that change the direction of what follows, separators of lines.
  ///
  /// It stays on one line, so that text from outside cannot forge lines of a log.
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
  /// Whether terminals, and other programs that show text, act on the character instead of showing it.
  package var isObeyed: Bool {
    switch value {
    case ..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
    case ..<0x7F: false
    default: properties.isBidiControl
    }
  }
}
