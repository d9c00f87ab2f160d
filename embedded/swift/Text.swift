/// A text of at most 128 bytes, on the stack. Further bytes are dropped.
struct Text: ~Copyable {
  private(set) var count = 0
  private var bytes: InlineArray<128, UInt8> = .init(repeating: 0)

  mutating func append(_ byte: UInt8) {
    guard count < 128 else { return }
    bytes[count] = byte
    count += 1
  }

  mutating func append(_ text: StaticString) {
    text.withUTF8Buffer { for byte in $0 { append(byte) } }
  }

  /// Appends a number in decimal.
  mutating func append(_ number: UInt32) {
    if number >= 10 { append(number / 10) }
    append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number % 10))
  }

  mutating func appendHexadecimal(_ number: UInt32) {
    for digit in (0..<8).reversed() {
      let value = UInt8(truncatingIfNeeded: number >> (4 * UInt32(digit)) & 15)
      append(value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10)
    }
  }

  func withBytes(_ body: (UnsafeRawPointer, Int) -> Void) {
    bytes.span.withUnsafeBytes { if let start = $0.baseAddress { body(start, count) } }
  }
}
