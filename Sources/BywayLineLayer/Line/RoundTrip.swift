/// The smoothed round-trip time and its variation (RFC 6298), from which a silent answer's deadline comes.
///
/// Samples have the time that frames needed on the wire taken out: what is left is the same for frames of every size.
struct RoundTrip {
  /// Nanoseconds. `nil` until something was measured.
  private(set) var smoothed: UInt64?
  private(set) var variation: UInt64 = 0

  /// Before anything was measured.
  private let initialTimeout: UInt64
  static let longestInitialTimeout: UInt64 = 300_000_000
  /// Schedulers and adapters are that irregular.
  private static let leastVariation: UInt64 = 10_000_000

  /// - Parameter frame: the longest time that a frame takes on the line; `nil` where it has no rate. Its adapters and the programs at its
  ///   ends seldom take longer than 60 ms, and a question that is repeated too early costs only its bytes.
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

  /// How long an answer may take, besides the time on the wire.
  var timeout: UInt64 {
    guard let smoothed else { return initialTimeout }
    return smoothed + max(4 * variation, Self.leastVariation)
  }
}
