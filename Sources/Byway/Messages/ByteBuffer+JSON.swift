package import NIOCore

extension ByteBuffer {
  /// Writes a JSON string (RFC 8259 §7). What a terminal would obey is escaped: people look at JSON too.
  package mutating func writeJSON(_ text: String) {
    writeString("\"")
    var text = text
    let isPlain = text.withUTF8 { bytes in
      // Most often nothing needs an escape.
      bytes.allSatisfy { $0 >= 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
    if isPlain { writeString(text) } else { writeEscaped(text) }
    writeString("\"")
  }

  private mutating func writeEscaped(_ text: String) {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": result += "\\\(scalar)"
      case _ where scalar.isObeyed:
        let hex = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - hex.count) + hex
      default: result.unicodeScalars.append(scalar)
      }
    }
    writeString(result)
  }
}
