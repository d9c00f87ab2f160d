/// The abilities that an end announces in HELLO and OPEN.
struct Abilities: Equatable {
  /// Bytes of payload that it takes in one frame.
  let largestPayload: Int
  /// The strongest correction that it mends frames with, and how many there are up to that; 0 for none.
  let correction: Int
  let streams: StreamOffer

  /// The assumed abilities of a listener that has not sent HELLO.
  static let unknown = Abilities(largestPayload: 256, correction: 0, streams: .none)

  init(largestPayload: UInt16, correction: UInt8, streams: StreamOffer) {
    self.largestPayload = max(Int(largestPayload), LineLayerConfiguration.leastPayload)
    self.streams = streams
    self.correction = min(Int(correction), Strength.count)
  }
}
