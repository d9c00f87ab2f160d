/// Duplicates of single bytes: a driver that reads a register once too often.
public struct DuplicatedBytes: RareFault {
  public static let name = "duplicated-bytes"
  var events: RareEvents

  /// Creates independent duplicates at one rate.
  /// - Parameter rate: the share of duplicated bytes.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    bytes.duplicate(at: events.hits(among: bytes.count, using: &random))
  }
}
