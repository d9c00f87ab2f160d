/// The errors of a line in both directions: damaged runs that arrived, and frames that were sent again. The number is a count and not an
/// estimate.
package struct LineErrors: Sendable, Hashable {
  package let count: UInt64
  /// The bytes on the wire in both directions.
  package let bytes: UInt64

  /// Returns `nil` if there were no bytes, or fewer bytes than errors.
  package init?(count: UInt64, in bytes: UInt64) {
    guard bytes > 0, count <= bytes else { return nil }
    self.count = count
    self.bytes = bytes
  }

  package var perMillionBytes: UInt64 {
    bytes.dividingFullWidth(count.multipliedFullWidth(by: 1_000_000)).quotient
  }
}

extension LineErrors: CustomStringConvertible {
  package var description: String {
    count == 0 ? "no errors in \(bytes) bytes" : "\(perMillionBytes) errors in a million bytes, \(count) in \(bytes)"
  }
}
