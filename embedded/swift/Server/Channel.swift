/// The output of all requests on a line: one stream of bytes, or pieces of several streams (section 13 of docs/wire-protocol.md).
struct Channel: ~Copyable {
  var line = Line()
  /// The number of streams of the session; 0 if it has only one.
  var streams: UInt8 = 0
  /// The request that waits for room on the line. Others do not write meanwhile. ``noRequest`` if none waits.
  var waits: UInt8 = 0
  /// Whether the head of an answer is only counted, and not written.
  var isCounting = false
  var counted: UInt8 = 0

  static var noRequest: UInt8 { 255 }
  /// The bytes that may wait on the line before requests stop writing content, so that streams take turns.
  private static var mostUnsent: Int { Sizes.payload }

  var isMultiplexed: Bool { Sizes.streams > 0 && streams > 0 }

  /// Whether a request may write more of its content in this turn.
  mutating func hasTurn() -> Bool { !isMultiplexed || line.unsent < Self.mostUnsent }

  @inline(never)
  mutating func write(_ bytes: Span<UInt8>) {
    if Sizes.streams > 0, isCounting {
      counted &+= UInt8(truncatingIfNeeded: bytes.count)
    } else {
      _ = line.write(bytes)
    }
  }

  @inline(never)
  mutating func write(_ text: StaticString) { write(text.bytes) }

  @inline(never)
  mutating func write(_ number: UInt32, base: UInt32) {
    var digits: InlineArray<10, UInt8> = .init(repeating: 0)
    var at = 10
    var rest = number
    repeat {
      at &-= 1
      let digit = UInt8(truncatingIfNeeded: rest % base)
      digits[at] = digit < 10 ? digit &+ UInt8(ascii: "0") : digit &- 10 &+ UInt8(ascii: "a")
      rest /= base
    } while rest > 0
    write(digits.span.extracting(at..<10))
  }

  mutating func write(_ first: UInt8, _ second: UInt8, count: Int) {
    let bytes: InlineArray<2, UInt8> = [first, second]
    _ = line.write(bytes.span.extracting(0..<count))
  }

  mutating func readByte() -> UInt8? {
    var byte: InlineArray<1, UInt8> = [0]
    var span = byte.mutableSpan
    return line.read(into: &span, from: 0, atMost: 1) == 0 ? nil : span[0]
  }
}
