package import NIOCore

extension ByteBuffer {
  /// Writes a JSON string (RFC 8259 §7).
  package mutating func writeJSON(_ text: String) {
    writeString("\"")
    var text = text
    text.withUTF8 { bytes in
      // Runs of bytes that need no escape, which is most often all of them.
      var start = 0
      for index in bytes.indices {
        let byte = bytes[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        writeBytes(bytes[start..<index])
        start = index + 1
        if byte < 0x20 {
          let hex = String(byte, radix: 16)
          writeString("\\u" + String(repeating: "0", count: 4 - hex.count) + hex)
        } else {
          writeBytes([UInt8(ascii: "\\"), byte])
        }
      }
      writeBytes(bytes[start...])
    }
    writeString("\"")
  }
}
