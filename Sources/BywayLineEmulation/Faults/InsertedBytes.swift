/// Extra bytes between the others: noise that looks like a start bit.
public struct InsertedBytes: RareFault {
  public static let name = "inserted-bytes"
  var events: RareEvents
  /// Apart from where they go, so that both are alike however the bytes are cut into calls.
  private var noise: SplitMix64?

  /// Independent insertions at one rate.
  /// - Parameter rate: inserted bytes for each byte carried, at most one.
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
