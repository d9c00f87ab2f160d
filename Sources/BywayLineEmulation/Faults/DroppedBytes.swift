/// Single bytes never arrive: an overrun of the receiver's FIFO.
public struct DroppedBytes: RareFault {
  public static let name = "dropped-bytes"
  var events: RareEvents

  /// Independent losses at one rate.
  /// - Parameter rate: of bytes.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    bytes.remove(at: events.hits(among: bytes.count, using: &random))
  }
}
