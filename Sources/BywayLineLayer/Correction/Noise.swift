/// The share of bytes that arrive wrong, as one end reports it to the other: a number of 4 bits and an exponent of 4, in parts of 2²⁰.
package struct Noise: Equatable, Sendable {
  /// 0 where there is nothing worth telling.
  package let code: UInt8

  package static let none = Noise(code: 0)
  /// Frames that bear correction are lost all the same.
  static let beyondMending = Noise(code: 255)

  package init(code: UInt8) {
    self.code = code
  }

  /// An estimate in halves of errors.
  init(halfErrors: UInt64, in bytes: UInt64) {
    let parts = min((halfErrors << 19) / max(bytes, 1), 30 << 15)
    guard parts > 16 else {
      self = .none
      return
    }
    let exponent = UInt64(59 - parts.leadingZeroBitCount)
    code = UInt8(truncatingIfNeeded: exponent << 4 | (parts >> exponent & 15))
  }

  /// The level in wrong bytes of 2²⁰.
  var parts: UInt64 { code == 0 ? 0 : UInt64(16 + code & 15) << UInt64(code >> 4) }

  /// Whether the level is at least half as much again.
  func exceeds(_ other: Noise) -> Bool { Int(code) >= Int(other.code) + 8 }
}
