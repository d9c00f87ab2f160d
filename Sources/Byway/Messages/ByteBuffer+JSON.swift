package import NIOCore

extension ByteBuffer {
  /// Writes a JSON string (RFC 8259 §7).
  package mutating func writeJSON(_ text: String) {
    writeString("\"")
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": writeString("\\\(scalar)")
      case "\u{0}"..."\u{1F}":
        let hex = String(scalar.value, radix: 16)
        writeString("\\u" + String(repeating: "0", count: 4 - hex.count) + hex)
      default: writeString(String(scalar))
      }
    }
    writeString("\"")
  }
}
