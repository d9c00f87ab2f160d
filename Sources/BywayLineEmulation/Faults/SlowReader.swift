/// A reader with a limited rate and a buffer of limited size. Bytes that arrive at a full buffer are lost.
public struct SlowReader: LineFault {
  public static let name = "slow-reader"
  private let bytesPerSecond: Int
  private let buffer: Int
  private var clock: ByteClock

  /// Creates a reader with a limited rate.
  /// - Parameters:
  /// - bytesPerSecond: the rate of the reader.
  /// - buffer: the size of the buffer in bytes. Linux has 4096 for a tty.
  public init(bytesPerSecond: Int, buffer: Int = 4096) {
    self.bytesPerSecond = bytesPerSecond
    self.buffer = buffer
    clock = ByteClock(numerator: 1_000_000_000, denominator: UInt64(max(1, bytesPerSecond)))
  }

  public func check() throws(LineConfigurationError) {
    guard bytesPerSecond > 0 else {
      throw LineConfigurationError(field: "\(Self.name) rate", "is \(bytesPerSecond): use at least 1 byte a second.")
    }
    guard buffer > 0 else {
      throw LineConfigurationError(field: "\(Self.name) buffer", "is \(buffer): use at least 1 byte.")
    }
  }

  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
    var lost: [Int] = []
    for index in 0..<bytes.count {
      let arrival = bytes.times[index]
      clock.idle(until: arrival)
      if (clock.end - arrival) / max(1, clock.period) >= UInt64(max(1, buffer)) {
        lost.append(index)
      } else {
        bytes.delay(at: index, until: clock.tick())
      }
    }
    bytes.remove(at: lost)
  }
}
