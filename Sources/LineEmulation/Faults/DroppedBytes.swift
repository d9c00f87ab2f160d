/// Single bytes never arrive: an overrun of the receiver's FIFO.
public struct DroppedBytes: LineFault {
  public static let name = "dropped-bytes"
  private let rate: Double
  private var events: RareEvents

  /// Independent losses at one rate.
  /// - Parameter rate: of bytes.
  public init(rate: Double) {
    self.rate = rate
    events = RareEvents(rate: rate)
  }

  public func check() throws(LineConfigurationError) {
    try checkRate(rate)
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    bytes.remove(at: events.hits(among: bytes.count, using: &random))
  }
}
