/// Arithmetic in the field of 256 elements with the polynomial x⁸ + x⁴ + x³ + x² + 1, without tables (section 7).
enum GaloisField {
  @inline(never)
  static func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    var product: UInt32 = 0
    var shifted = UInt32(left)
    var bits = right
    while bits != 0 {
      if bits & 1 != 0 { product ^= shifted }
      shifted <<= 1
      if shifted & 0x100 != 0 { shifted ^= 0x11D }
      bits >>= 1
    }
    return UInt8(truncatingIfNeeded: product)
  }

  /// Returns the inverse of a value other than zero: its power 254.
  static func inverse(_ value: UInt8) -> UInt8 {
    var power = product(value, value)
    var inverse = power
    for _ in 0..<6 {
      power = product(power, power)
      inverse = product(inverse, power)
    }
    return inverse
  }
}
