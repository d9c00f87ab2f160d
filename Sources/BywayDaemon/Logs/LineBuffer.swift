import Byway
import BywayHTTPWire
import BywayPrimitives
import NIOCore

/// A buffer of lines that are to be written, as bytes. It has one owner and is never copied, so that an append costs one comparison
/// and the copy of its bytes.
///
/// `@unchecked Sendable`: its memory has no other owner.
struct LineBuffer: ~Copyable, @unchecked Sendable {
  /// A larger buffer is released when it is empty.
  private static let usualCapacity = 128 << 10

  private var start = UnsafeMutableRawPointer.allocate(byteCount: 0, alignment: 1)
  private var capacity = 0
  private(set) var count = 0

  deinit { start.deallocate() }

  func withBytes<Result, Failure: Error>(
    _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try body(UnsafeRawBufferPointer(start: start, count: count))
  }

  mutating func removeAll() {
    count = 0
    if capacity > Self.usualCapacity { move(to: 0) }
  }

  /// Removes what was appended after a number of bytes.
  mutating func removeLast(to count: Int) {
    self.count = min(max(count, 0), self.count)
  }

  // MARK: Text

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    room(1).storeBytes(of: byte, as: UInt8.self)
  }

  @inline(__always)
  mutating func append(_ text: StaticString) {
    room(text.utf8CodeUnitCount).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let from = bytes.baseAddress else { return }
    room(bytes.count).copyMemory(from: from, byteCount: bytes.count)
  }

  /// - Parameters:
  ///   - number: Numbers below 0 are written as 0.
  ///   - digits: The exact number of digits, with leading zeros.
  mutating func append(decimal number: Int, digits: Int) {
    let room = room(digits)
    var (rest, place) = (UInt64(max(0, number)), digits)
    while place >= 2 {
      // Two digits as the bytes of one number, the left one first.
      let pair = UInt16(truncatingIfNeeded: rest % 100)
      rest /= 100
      place -= 2
      room.storeBytes(of: (0x3030 + pair / 10 + ((pair % 10) << 8)).littleEndian, toByteOffset: place, as: UInt16.self)
    }
    if place > 0 { room.storeBytes(of: 0x30 + UInt8(truncatingIfNeeded: rest % 10), as: UInt8.self) }
  }

  /// - Parameter number: Numbers below 0 are written as 0.
  mutating func append(decimal number: Int) {
    var (digits, limit) = (1, UInt64(10))
    // The largest number has 19 digits, so the limit does not overflow.
    while UInt64(max(0, number)) >= limit {
      digits += 1
      limit *= 10
    }
    append(decimal: number, digits: digits)
  }

  /// Appends a value from outside with the escapes that Apache uses.
  /// - Parameter blanks: Whether to escape blanks as well.
  mutating func append(escaping value: UnsafeRawBufferPointer, blanks: Bool = false) {
    if value.isPlain, !blanks { return append(value) }
    for byte in value {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        append(UInt8(ascii: "\\"))
        append(byte)
      case (blanks ? 0x21 : 0x20)..<0x7F: append(byte)
      default:
        append("\\x")
        append(Hex.digit(byte >> 4))
        append(Hex.digit(byte & 15))
      }
    }
  }

  mutating func append(_ trace: TraceID) {
    trace.write(to: UnsafeMutableRawBufferPointer(start: room(TraceID.length), count: TraceID.length))
  }

  // MARK: Members of a JSON object

  /// - Parameter name: The name with the punctuation around it.
  mutating func append(_ name: StaticString, _ value: UnsafeRawBufferPointer) {
    append(name)
    guard value.isPlain else {
      var escaped: [UInt8] = []
      JSON.write(String(decoding: value, as: UTF8.self), to: &escaped)
      return escaped.withUnsafeBytes { append($0) }
    }
    append(UInt8(ascii: "\""))
    append(value)
    append(UInt8(ascii: "\""))
  }

  mutating func append(_ name: StaticString, _ value: String) {
    value.utf8Span.span.bytes.withUnsafeBytes { append(name, $0) }
  }

  mutating func append(_ name: StaticString, _ value: Int) {
    append(name)
    append(decimal: value)
  }

  /// Appends a time in seconds, to a millionth.
  mutating func append(_ name: StaticString, _ time: TimeAmount) {
    let microseconds = Int(max(0, time.nanoseconds) / 1000)
    append(name)
    append(decimal: microseconds / 1_000_000)
    append(UInt8(ascii: "."))
    append(decimal: microseconds % 1_000_000, digits: 6)
  }

  // MARK: Memory

  /// Returns the place for that many more bytes, which the caller writes.
  @inline(__always)
  private mutating func room(_ more: Int) -> UnsafeMutableRawPointer {
    if capacity - count < more { move(to: max(count + more, 2 * capacity, 4096)) }
    defer { count += more }
    return start + count
  }

  @inline(never)
  private mutating func move(to capacity: Int) {
    let place = UnsafeMutableRawPointer.allocate(byteCount: capacity, alignment: 1)
    place.copyMemory(from: start, byteCount: count)
    start.deallocate()
    start = place
    self.capacity = capacity
  }
}

extension UnsafeRawBufferPointer {
  /// Whether all of it is printable and needs no escape.
  fileprivate var isPlain: Bool {
    allSatisfy(
      { word in
        !(word & 0x8080_8080_8080_8080 != 0 || word.hasByte(below: 0x20) || word.hasByte(0x22) || word.hasByte(0x5C)
          || word.hasByte(0x7F))
      }, { $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C })
  }
}
