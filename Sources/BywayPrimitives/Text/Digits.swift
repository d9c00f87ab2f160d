extension String {
  /// Writes a number with zeros in front, up to a number of digits.
  package init(_ number: some BinaryInteger, digits: Int) {
    let text = "\(number)"
    self = String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}
