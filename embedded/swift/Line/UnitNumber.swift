/// The number of a unit of 16 bytes, modulo 65,536 (section 4 of docs/wire-protocol.md).
struct UnitNumber: Equatable {
  var value: UInt16

  init(_ value: UInt16) {
    self.value = value
  }

  static func + (number: UnitNumber, count: Int) -> UnitNumber {
    UnitNumber(number.value &+ UInt16(truncatingIfNeeded: count))
  }

  static func - (number: UnitNumber, count: Int) -> UnitNumber { number + (0 &- count) }

  /// Returns the number of units from an earlier number to this one.
  func count(from earlier: UnitNumber) -> Int { Int(value &- earlier.value) }

  /// Returns how far this number is ahead of another; negative if it is behind.
  func ahead(of other: UnitNumber) -> Int { Unit.distance(from: other.value, to: value) }
}
