/// The unit of numbers: up to 16 bytes of a stream, as they were cut when they were first sent. Only the last unit of a frame may be
/// shorter. So lost units can be sent again in smaller frames.
package enum Unit {
  package static let size = 16
  /// The most units that a window may have: a number of 16 bits is then ahead or behind, never both.
  package static let largestWindow = 32_000

  /// Units of a frame's payload. An empty one has a number as well, so that it can be acknowledged.
  package static func count(_ bytes: Int) -> Int { max((bytes + size - 1) / size, 1) }

  /// How far a number is ahead of another; behind where negative.
  package static func distance(from start: UInt16, to number: UInt16) -> Int { Int(Int16(bitPattern: number &- start)) }
}
