/// A unit of numbering: up to 16 bytes of a stream. The units of the stream stay the same when it is sent again, so lost units can go in
/// smaller frames. Only the last unit of a frame may be shorter.
package enum Unit {
  package static let size = 16
  /// The largest window in units. With 16-bit numbers, every unit is then clearly ahead or behind.
  package static let largestWindow = 32_000

  /// Returns the number of units of a payload. An empty payload is one unit, so that it can be acknowledged.
  package static func count(_ bytes: Int) -> Int { max((bytes + size - 1) / size, 1) }

  /// Returns how far a number is ahead of another; negative if it is behind.
  package static func distance(from start: UInt16, to number: UInt16) -> Int { Int(Int16(bitPattern: number &- start)) }
}
