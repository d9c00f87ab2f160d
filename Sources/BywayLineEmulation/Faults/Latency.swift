/// A delay of all bytes, which keep their order: a radio modem, or a serial port behind a network.
public struct Latency: LineFault {
  public static let name = "latency"
  private let delay: UInt64
  private let jitter: UInt64

  /// Creates a delay for all bytes.
  /// - Parameters:
  /// - delay: the least delay.
  /// - jitter: the largest additional delay, which is random for each byte. A byte never overtakes an earlier one.
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
