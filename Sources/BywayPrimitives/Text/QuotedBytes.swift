extension String {
  /// The beginning of data from outside, in quotation marks and printable, for messages that may get into a log.
  package init(quoting bytes: some Collection<UInt8>, limit: Int) {
    let text = bytes.prefix(limit).map { byte in
      switch byte {
      case 0x0D: "\\r"
      case 0x0A: "\\n"
      case 0x22, 0x5C: "\\" + String(UnicodeScalar(byte))
      case 0x20..<0x7F: String(UnicodeScalar(byte))
      default: "\\x" + Hex.text(CollectionOfOne(byte))
      }
    }
    self = "\"\(text.joined())\(bytes.count > limit ? "…" : "")\""
  }
}
