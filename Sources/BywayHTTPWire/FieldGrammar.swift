/// The character classes of RFC 9110 §5 and RFC 9112 §3 that a hop must check.
@usableFromInline
package enum FieldGrammar {
  /// Whether the bytes are a token (RFC 9110 §5.6.2): one or more token characters.
  @inlinable package static func isToken(_ bytes: UnsafeRawBufferPointer) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
  }

  @inlinable package static func isTokenByte(_ byte: UInt8) -> Bool {
    token.contains(byte)
  }

  /// Whether the bytes may be a field value or a reason phrase, including blanks at the ends.
  package static func isFieldText(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.allSatisfy({ !$0.hasByte(below: 0x20) && !$0.hasByte(0x7F) }, isText)
  }

  /// Whether the bytes may be a request target or authority: not empty, and without bytes that would end a request line early.
  package static func isTarget(_ bytes: UnsafeRawBufferPointer) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy({ !$0.hasByte(below: 0x21) && !$0.hasByte(0x7F) }, { $0 > 0x20 && $0 != 0x7F })
  }

  /// Parses a decimal length (RFC 9110 §8.6), at most 2^63 - 1.
  package static func length(_ bytes: UnsafeRawBufferPointer) -> Int? {
    guard !bytes.isEmpty, bytes.count <= 19 else { return nil }
    var length = 0
    for digit in bytes {
      guard digit &- 0x30 < 10 else { return nil }
      let (product, overflow) = length.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(Int(digit &- 0x30))
      if overflow || carry { return nil }
      length = sum
    }
    return length
  }

  /// Calls a closure for each member of a comma-separated list (RFC 9110 §5.6.1). Trims white space and skips empty members.
  @inlinable package static func forEachMember<Failure: Error>(
    of list: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
  ) throws(Failure) {
    var start = 0
    while start < list.count {
      let end = list.firstOffset(of: UInt8(ascii: ","), from: start) ?? list.count
      let member = trim(UnsafeRawBufferPointer(rebasing: list[start..<end]))
      if !member.isEmpty { try body(member) }
      start = end + 1
    }
  }

  /// Removes the spaces and tabs at both ends.
  @inlinable package static func trim(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    var start = 0
    var end = bytes.count
    while start < end, isBlank(bytes[start]) { start += 1 }
    while start < end, isBlank(bytes[end - 1]) { end -= 1 }
    return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
  }

  /// Whether the bytes equal the text, ignoring the case of ASCII letters.
  @inlinable package static func equal(_ bytes: UnsafeRawBufferPointer, lowercased text: StaticString) -> Bool {
    bytes.count == text.utf8CodeUnitCount && bytes.equals(lowercased: UnsafeRawPointer(text.utf8Start))
  }

  @inlinable static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  private static func isText(_ byte: UInt8) -> Bool { (byte >= 0x20 && byte != 0x7F) || byte == 0x09 }

  /// All visible ASCII characters except the delimiters `"(),/:;<=>?@[\]{}`.
  @inlinable static var token: ASCIISet { ASCIISet(low: 0x03FF_6CFA_0000_0000, high: 0x57FF_FFFF_C7FF_FFFE) }
}

/// A set of ASCII characters, with one bit for each.
@usableFromInline
struct ASCIISet: Sendable {
  @usableFromInline let low: UInt64
  @usableFromInline let high: UInt64

  @inlinable
  init(low: UInt64, high: UInt64) {
    self.low = low
    self.high = high
  }

  @inlinable
  func contains(_ byte: UInt8) -> Bool {
    byte < 0x80 && (byte < 0x40 ? low : high) >> UInt64(byte & 0x3F) & 1 != 0
  }
}
