/// A text of at most 128 bytes, on the stack. Further bytes are dropped.
struct Text: ~Copyable {
  private(set) var count = 0
  private var bytes: InlineArray<128, UInt8> = .init(repeating: 0)

  mutating func append(_ byte: UInt8) {
    guard count < 128 else { return }
    bytes[count] = byte
    count &+= 1
  }

  @inline(never)
  mutating func append(_ text: StaticString) {
    for index in 0..<text.utf8CodeUnitCount { append(text.utf8Start[index]) }
  }

  /// Appends a number in decimal.
  mutating func append(_ number: UInt32) {
    if number >= 10 { append(number / 10) }
    append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: number % 10))
  }

  mutating func appendHexadecimal(_ number: UInt32) {
    var rest = number
    for _ in 0..<8 {
      let digit = UInt8(truncatingIfNeeded: rest >> 28)
      append(digit < 10 ? UInt8(ascii: "0") &+ digit : UInt8(ascii: "a") &+ digit &- 10)
      rest <<= 4
    }
  }

  /// Calls a function with the bytes of the text.
  mutating func withBytes<Result>(_ use: (Span<UInt8>) -> Result) -> Result { use(bytes.span.extracting(0..<count)) }
}
