/// Extra bytes between the others: noise that looks like a start bit.
public struct InsertedBytes: RareFault {
  public static let name = "inserted-bytes"
  var events: RareEvents
  /// The generator of the inserted bytes. It is separate from that of their positions, so that neither depends on how the bytes are split
  /// into calls.
  private var noise: SplitMix64?

  /// Creates independent insertions at one rate.
  /// - Parameter rate: the number of inserted bytes for each byte, at most one.
  public init(rate: Double) {
    events = RareEvents(rate: rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    var noise = noise ?? random.stream(named: "noise")
    let indices = events.hits(among: bytes.count, using: &random)
    bytes.insert(indices.map { _ in UInt8(truncatingIfNeeded: noise.next()) }, before: indices)
    self.noise = noise
  }
}
