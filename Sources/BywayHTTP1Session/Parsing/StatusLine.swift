import BywayHTTPWire

/// The line `HTTP-version SP status-code SP [reason-phrase]` (RFC 9112 §4). The phrase is validated and dropped.
struct StatusLine: Sendable {
  let version: HTTP1Version
  let code: Int

  /// Parses the line, and appends `:status`.
  init(_ line: UnsafeRawBufferPointer, into fields: inout FieldSection) throws(HTTP1Failure) {
    // The space before an absent phrase is often missing, and the meaning is still clear.
    guard line.count >= 12, line[8] == UInt8(ascii: " "), line.count == 12 || line[12] == UInt8(ascii: " ") else {
      throw .malformed("The status line does not have the form \"HTTP/1.1 200 OK\".")
    }
    version = try HTTP1Version(UnsafeRawBufferPointer(rebasing: line[..<8]))
    let digits = UnsafeRawBufferPointer(rebasing: line[9..<12])
    guard let code = FieldGrammar.length(digits), code >= 100 else {
      throw .malformed("The status is not a number from 100 to 999.")
    }
    guard FieldGrammar.isFieldText(UnsafeRawBufferPointer(rebasing: line[12...])) else {
      throw .malformed("The reason phrase contains a control character.")
    }
    self.code = code
    fields.append(.status, digits)
  }

  /// Whether the bytes can still become a status line.
  static func mayBegin(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let name: StaticString = "HTTP/"
    for index in 0..<min(bytes.count, 5) where bytes[index] != name.utf8Start[index] { return false }
    return true
  }
}

extension HTTP1Version {
  /// Parses `HTTP/1.x`. A later minor version is treated as the latest known one (RFC 9110 §2.5).
  init(_ bytes: UnsafeRawBufferPointer) throws(HTTP1Failure) {
    guard bytes.count == 8, StatusLine.mayBegin(bytes), bytes[5] &- 0x30 < 10, bytes[6] == UInt8(ascii: "."),
      bytes[7] &- 0x30 < 10
    else { throw .malformed("The HTTP version does not have the form \"HTTP/1.1\".") }
    guard bytes[5] == UInt8(ascii: "1") else {
      throw .unsupported("The message is not HTTP/1.x.", status: 505)
    }
    self = bytes[7] == UInt8(ascii: "0") ? .v1_0 : .v1_1
  }
}
