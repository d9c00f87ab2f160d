extension String {
  /// A number with zeros in front, up to that many digits.
  package init(_ number: some BinaryInteger, digits: Int) {
    let text = "\(number)"
    self = String(repeating: "0", count: Swift.max(0, digits - text.utf8.count)) + text
  }
}
