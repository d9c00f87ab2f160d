/// The smoothed round-trip time and its variation (RFC 6298), for the retransmission timer.
///
/// Samples exclude the time of the frames on the wire, so they do not depend on the size of frames.
struct RoundTrip {
  /// The time in nanoseconds; `nil` before the first sample.
  private(set) var smoothed: UInt64?
  private(set) var variation: UInt64 = 0

  /// The timeout before the first sample.
  private let initialTimeout: UInt64
  static let longestInitialTimeout: UInt64 = 300_000_000
  /// The least variation, for the irregular delays of schedulers and adapters.
  private static let leastVariation: UInt64 = 10_000_000

  /// - Parameter frame: the longest time of a frame on the wire; `nil` if the line has no rate. The first timeout adds 60 ms, because
  ///   adapters and programs seldom take longer. A question that is repeated too early costs only its bytes.
  init(frame: UInt64?) {
    initialTimeout = frame.map { min($0 + 60_000_000, Self.longestInitialTimeout) } ?? Self.longestInitialTimeout
  }

  mutating func sample(_ time: UInt64) {
    guard let mean = smoothed else {
      smoothed = time
      variation = time / 2
      return
    }
    let error = mean > time ? mean - time : time - mean
    variation = (3 * variation + error) / 4
    smoothed = (7 * mean + time) / 8
  }

  /// The time to wait for an answer, without the time on the wire.
  var timeout: UInt64 {
    guard let smoothed else { return initialTimeout }
    return smoothed + max(4 * variation, Self.leastVariation)
  }
}
