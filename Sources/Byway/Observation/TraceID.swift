import Synchronization

/// The id of an exchange in the logs of all its hops (W3C Trace Context, `trace-id`).
public struct TraceID: Sendable, Hashable, CustomStringConvertible {
  let high: UInt64
  let low: UInt64

  /// The length of its text.
  package static let length = 32

  /// 32 hexadecimal digits, in lower case.
  public var description: String {
    String(unsafeUninitializedCapacity: Self.length) { text in
      write(to: UnsafeMutableRawBufferPointer(text))
      return Self.length
    }
  }

  /// Writes the same as bytes; there must be room for them.
  package func write(to text: UnsafeMutableRawBufferPointer) {
    Self.write(high, to: text, at: 0)
    Self.write(low, to: text, at: 16)
  }

  /// Writes sixteen digits. Every request needs some, so they are computed eight at a time.
  static func write(_ half: UInt64, to text: UnsafeMutableRawBufferPointer, at place: Int) {
    text.storeBytes(of: digits(UInt32(truncatingIfNeeded: half >> 32)).bigEndian, toByteOffset: place, as: UInt64.self)
    text.storeBytes(of: digits(UInt32(truncatingIfNeeded: half)).bigEndian, toByteOffset: place + 8, as: UInt64.self)
  }

  /// Returns the digit of each half byte in a byte of its own.
  private static func digits(_ value: UInt32) -> UInt64 {
    var spread = UInt64(value)
    spread = (spread | spread << 16) & 0x0000_FFFF_0000_FFFF
    spread = (spread | spread << 8) & 0x00FF_00FF_00FF_00FF
    spread = (spread | spread << 4) & 0x0F0F_0F0F_0F0F_0F0F
    // For digits of ten and more the sum has a bit above the lower four.
    let isLetter = (spread + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101
    return spread + 0x3030_3030_3030_3030 + isLetter * 0x27
  }
}

/// A source of ids that are unique among processes. They look random but are not secret: later ones can be guessed from earlier ones.
package final class TraceSource: Sendable {
  private let start: UInt64
  private let count: Atomic<UInt64>

  package init() {
    start = .random(in: .min ... .max)
    count = Atomic(.random(in: .min ... .max))
  }

  /// Returns an id, and that of this hop; neither is zero.
  func next() -> (trace: TraceID, parent: UInt64) {
    let last = count.wrappingAdd(3 &* Self.step, ordering: .relaxed).newValue
    let id = TraceID(high: number(last &- 2 &* Self.step), low: number(last &- Self.step))
    return (id, number(last))
  }

  private static let step: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Returns a number that is never zero.
  private func number(_ count: UInt64) -> UInt64 {
    var value = count ^ start
    // The finalizer of SplitMix64: consecutive inputs give unrelated outputs.
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return max(1, value ^ (value >> 31))
  }
}
