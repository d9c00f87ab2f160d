/// A loss of single bytes: an overrun of the receiver's FIFO.
public struct DroppedBytes: RareFault {
  public static let name = "dropped-bytes"
  var events: RareEvents

  /// Creates independent losses at one rate.
  /// - Parameter rate: the share of dropped bytes.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    bytes.remove(at: events.hits(among: bytes.count, using: &random))
  }
}
