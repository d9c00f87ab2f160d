/// The share of received bytes that are wrong, as one end reports it to its peer: 4 bits of mantissa and 4 of exponent, in units of 2⁻²⁰.
package struct Noise: Equatable, Sendable {
  /// 0 if the noise is too low to report.
  package let code: UInt8

  package static let none = Noise(code: 0)
  /// The level for a line on which frames are lost in spite of correction.
  static let beyondCorrection = Noise(code: 255)

  package init(code: UInt8) {
    self.code = code
  }

  /// Creates an estimate. The errors are counted in halves.
  init(halfErrors: UInt64, in bytes: UInt64) {
    let parts = min((halfErrors << 19) / max(bytes, 1), 30 << 15)
    guard parts > 16 else {
      self = .none
      return
    }
    let exponent = UInt64(59 - parts.leadingZeroBitCount)
    code = UInt8(truncatingIfNeeded: exponent << 4 | (parts >> exponent & 15))
  }

  /// The level as the number of wrong bytes in 2²⁰.
  var parts: UInt64 { code == 0 ? 0 : UInt64(16 + code & 15) << UInt64(code >> 4) }

  /// Whether this level is at least 1.5 times the other.
  func exceeds(_ other: Noise) -> Bool { Int(code) >= Int(other.code) + 8 }
}
