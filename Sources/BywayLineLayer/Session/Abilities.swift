/// The abilities that an end announces in HELLO and OPEN.
struct Abilities: Equatable {
  /// The largest payload of a frame that it accepts, in bytes.
  let largestPayload: Int
  /// The number of strengths that it corrects, from the weakest on; 0 for none.
  let correction: Int
  let streams: StreamOffer

  /// The abilities that a dialer assumes before the first HELLO.
  static let unknown = Abilities(largestPayload: 256, correction: 0, streams: .none)

  init(largestPayload: UInt16, correction: UInt8, streams: StreamOffer) {
    self.largestPayload = max(Int(largestPayload), LineLayerConfiguration.leastPayload)
    self.streams = streams
    self.correction = min(Int(correction), Strength.count)
  }
}
