/// The field of 256 elements with the polynomial x⁸ + x⁴ + x³ + x² + 1 and its root 2, as in RFC 5510 §8.1.
enum GaloisField {
  /// The powers 0 to 509 of 2, so that a sum of two logarithms needs no reduction. Then the logarithms of 0 to 255; the one of 0 is not
  /// used.
  static let tables: [UInt8] = {
    var tables = [UInt8](repeating: 0, count: logarithms + 256)
    var power: UInt16 = 1
    for exponent in 0..<255 {
      tables[exponent] = UInt8(truncatingIfNeeded: power)
      tables[exponent + 255] = UInt8(truncatingIfNeeded: power)
      tables[logarithms + Int(power)] = UInt8(truncatingIfNeeded: exponent)
      power = power << 1 ^ (power & 0x80 == 0 ? 0 : 0x11D)
    }
    return tables
  }()

  static let logarithms = 510
}

/// Arithmetic in ``GaloisField``, on its tables. Sums are exclusive ors.
struct GaloisArithmetic {
  private let tables: UnsafePointer<UInt8>

  init(_ tables: UnsafePointer<UInt8>) {
    self.tables = tables
  }

  /// Returns 2 to the power of 0 to 509.
  func power(_ exponent: Int) -> UInt8 { tables[exponent] }

  /// Returns the logarithm of a value other than zero.
  func logarithm(_ value: UInt8) -> Int { Int(tables[GaloisField.logarithms &+ Int(value)]) }

  func product(_ left: UInt8, _ right: UInt8) -> UInt8 {
    left == 0 || right == 0 ? 0 : power(logarithm(left) &+ logarithm(right))
  }

  /// Divides by a value other than zero.
  func quotient(_ left: UInt8, _ right: UInt8) -> UInt8 {
    left == 0 ? 0 : power(logarithm(left) &+ 255 &- logarithm(right))
  }

  /// Returns the value times 2 to the power of 0 to 255.
  func shifted(_ value: UInt8, by exponent: Int) -> UInt8 {
    value == 0 ? 0 : power(logarithm(value) &+ exponent)
  }
}
