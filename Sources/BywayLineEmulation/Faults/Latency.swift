/// Every byte arrives later, in order: a radio modem, a serial port behind a network.
public struct Latency: LineFault {
  public static let name = "latency"
  private let delay: UInt64
  private let jitter: UInt64

  /// A delay for every byte.
  /// - Parameters:
  ///   - delay: at least this much.
  ///   - jitter: up to this much more, another for each byte; what would overtake waits.
  public init(_ delay: Duration, jitter: Duration = .zero) {
    self.delay = delay.nanoseconds
    self.jitter = jitter.nanoseconds
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    guard delay > 0 || jitter > 0 else { return }
    for index in 0..<bytes.count {
      let extra = jitter > 0 ? random.next() % (jitter + 1) : 0
      bytes.delay(at: index, until: bytes.times[index] + delay + extra)
    }
  }
}
