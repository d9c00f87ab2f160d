/// The configuration of one direction of a serial line, with its faults.
public struct LineConfiguration: Sendable {
  /// Bits per second on the wire.
  public var baud: Int
  /// Start, data, parity and stop bits: 10 for 8N1.
  public var bitsPerCharacter: Int
  /// The relative error of the transmitter's clock: with 0.02 it sends 2 % faster than `baud`.
  public var clockError: Double
  /// The bytes that the transmitting tty accepts before it returns EAGAIN: about 4 KiB for a 16550, 20 KiB for some USB adapters.
  public var transmitQueue: Int
  /// The interval at which received bytes are delivered: 16 ms for an FTDI adapter by default. With zero each byte is delivered at once,
  /// which in a simulation costs a wake-up for each byte.
  public var batch: Duration
  /// The buffer of the reader in bytes. Bytes that do not fit are lost, as on a line without flow control.
  public var receiveBuffer: Int
  /// The scheduled times without a line.
  public var cuts: [Cut]
  /// The faults, in order from the transmitter to the reader.
  public var faults: [any LineFault]

  /// A line of 115200 baud without faults, unless parameters change that.
  /// - Parameters:
  ///   - baud: bits per second, 50 to 100,000,000.
  ///   - bitsPerCharacter: 7 to 12; 10 for 8N1.
  ///   - clockError: -0.5 to 0.5.
  ///   - transmitQueue: the bytes that the transmitter accepts before it returns EAGAIN.
  ///   - batch: the interval at which received bytes are delivered; up to a minute.
  ///   - receiveBuffer: the buffer of the reader in bytes.
  ///   - cuts: the scheduled times without a line.
  ///   - faults: the faults, in order from the transmitter to the reader.
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

  /// Checks the parameters, including those of the cuts and faults.
  /// - Throws: an error that names the first invalid parameter.
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

  /// The clock. A configuration that does not pass ``check()`` gets the nearest valid clock.
  var clock: ByteClock {
    let bits = UInt64(Double(bitsPerCharacter).clamped(to: Self.characterLengths))
    let bitsPerSecond = UInt64(Double(baud).clamped(to: Self.bauds))
    let error = clockError.clamped(to: Self.clockErrors)
    // This is not `rounded()`, which needs the C library.
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
