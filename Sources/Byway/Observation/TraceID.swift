import Synchronization

/// Names an exchange in the logs of all hops that it passes (W3C Trace Context, `trace-id`).
public struct TraceID: Sendable, Hashable, CustomStringConvertible {
  let high: UInt64
  let low: UInt64

  /// 32 hexadecimal digits, in lower case.
  public var description: String {
    var digits: [UInt8] = []
    append(to: &digits)
    return String(decoding: digits, as: UTF8.self)
  }

  /// The same as bytes.
  package func append(to bytes: inout [UInt8]) {
    for place in 0..<16 { bytes.append(Self.digit(high, at: place)) }
    for place in 0..<16 { bytes.append(Self.digit(low, at: place)) }
  }

  /// - Parameter place: from the left, which is the most significant.
  static func digit(_ half: UInt64, at place: Int) -> UInt8 {
    let value = UInt8(truncatingIfNeeded: half >> UInt64(60 - 4 * place)) & 0xF
    return value < 10 ? 0x30 + value : 0x57 + value
  }
}

/// Makes ids that no other process makes. They are unlike each other, and no secret: who has seen some can guess others.
package final class TraceSource: Sendable {
  private let start: UInt64
  private let count: Atomic<UInt64>

  package init() {
    start = .random(in: .min ... .max)
    count = Atomic(.random(in: .min ... .max))
  }

  /// Never zero.
  func next() -> UInt64 {
    var value = count.wrappingAdd(0x9E37_79B9_7F4A_7C15, ordering: .relaxed).newValue ^ start
    // The finalizer of SplitMix64: neighbours differ in every bit.
    value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
    return max(1, value ^ (value >> 31))
  }
}
