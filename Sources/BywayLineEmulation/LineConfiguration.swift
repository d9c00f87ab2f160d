/// The configuration of one direction of a serial line, with its faults.
public struct LineConfiguration: Sendable {
  /// Bits per second on the wire.
  public var baud: Int
  /// Start, data, parity and stop bits: 10 for 8N1.
  public var bitsPerCharacter: Int
  /// How far the clock of the transmitter is off: 0.02 sends 2 % faster than `baud`.
  public var clockError: Double
  /// Bytes that the transmitting tty takes before it says EAGAIN: about 4 KiB for a 16550, 20 KiB for some USB adapters.
  public var transmitQueue: Int
  /// Received bytes are handed up only every so often: 16 ms for an FTDI adapter as it comes. Zero hands up each byte, which
  /// in a simulation is also a wake-up for each byte.
  public var batch: Duration
  /// Bytes that wait for the reader; beyond, what arrives is lost, as nothing stops a line without flow control.
  public var receiveBuffer: Int
  /// Times without a line.
  public var cuts: [Cut]
  /// The faults, in order from the transmitter to the reader.
  public var faults: [any LineFault]

  /// A line, by default of 115200 baud with nothing wrong.
  /// - Parameters:
  ///   - baud: bits per second, 50 to 100,000,000.
  ///   - bitsPerCharacter: 7 to 12; 10 for 8N1.
  ///   - clockError: -0.5 to 0.5.
  ///   - transmitQueue: what the transmitter takes before it says EAGAIN, in bytes.
  ///   - batch: how often received bytes are handed up; up to a minute.
  ///   - receiveBuffer: how many bytes may wait for the reader.
  ///   - cuts: times without a line.
  ///   - faults: from the transmitter to the reader.
  public init(
    baud: Int = 115_200,
    bitsPerCharacter: Int = 10,
    clockError: Double = 0,
    transmitQueue: Int = 4096,
    batch: Duration = .zero,
    receiveBuffer: Int = 65_536,
    cuts: [Cut] = [],
    faults: [any LineFault] = []
  ) {
    self.baud = baud
    self.bitsPerCharacter = bitsPerCharacter
    self.clockError = clockError
    self.transmitQueue = transmitQueue
    self.batch = batch
    self.receiveBuffer = receiveBuffer
    self.cuts = cuts
    self.faults = faults
  }

  /// Judges the parameters, those of the cuts and faults included.
  /// - Throws: an error that names the first that makes no sense.
  public func check() throws(LineConfigurationError) {
    try Self.check(Double(baud), "baud rate", in: Self.bauds)
    try Self.check(Double(bitsPerCharacter), "bits per character", in: Self.characterLengths)
    try Self.check(clockError, "clock error", in: Self.clockErrors)
    try Self.check(Double(transmitQueue), "transmit queue", in: 1...1e9)
    try Self.check(Double(receiveBuffer), "receive buffer", in: 1...1e9)
    try Self.check(batch / .seconds(1), "batch", in: 0...60)
    for cut in cuts { try cut.check() }
    for fault in faults { try fault.check() }
  }

  /// Bytes per second.
  package var byteRate: Double {
    Double(baud) * (1 + clockError) / Double(bitsPerCharacter)
  }

  /// The clock. A configuration that has not passed ``check()`` gets the nearest that can be emulated.
  var clock: ByteClock {
    let bits = UInt64(Double(bitsPerCharacter).clamped(to: Self.characterLengths))
    let bitsPerSecond = UInt64(Double(baud).clamped(to: Self.bauds))
    let error = clockError.clamped(to: Self.clockErrors)
    // Not `rounded()`, which wants the C library.
    let millionths = UInt64((1 + error) * 1_000_000 + 0.5)
    return ByteClock(numerator: bits * 1_000_000_000 * 1_000_000, denominator: bitsPerSecond * millionths)
  }

  static let bauds = 50.0...100_000_000
  private static let characterLengths = 7.0...12
  private static let clockErrors = -0.5...0.5

  private static func check(
    _ value: Double, _ field: String, in range: ClosedRange<Double>
  ) throws(LineConfigurationError) {
    guard range.contains(value) else {
      throw LineConfigurationError(
        field: field, "is \(text(value)): use a value from \(text(range.lowerBound)) to \(text(range.upperBound)).")
    }
  }

  private static func text(_ value: Double) -> String {
    guard value.magnitude < 1e15, Double(Int64(value)) == value else { return "\(value)" }
    return "\(Int64(value))"
  }
}

extension Double {
  fileprivate func clamped(to range: ClosedRange<Double>) -> Double {
    isNaN ? range.lowerBound : Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}
