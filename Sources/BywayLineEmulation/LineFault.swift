/// Something that goes wrong on a line. docs/testing-with-bad-lines.md shows how to write one.
///
/// A fault is a value: the line keeps a copy of its own, calls it with bytes in their order on the wire, and gives it
/// the same random numbers for the same seed, whatever other faults there are. It must decide alike however the bytes are
/// cut into calls.
public protocol LineFault: Sendable {
  /// Names its stream of random numbers, and the fault in messages: `bit-flips`.
  static var name: String { get }

  /// Judges its parameters before use.
  func check() throws(LineConfigurationError)

  /// Damages, loses, adds or delays bytes.
  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64)

  /// When this fault next writes on the wire itself, in nanoseconds; `nil` for never.
  var nextForeignBytes: UInt64? { get }

  /// Returns what the fault writes at that time. It is called once the wire is free, and its bytes go ahead of those that wait.
  /// ``nextForeignBytes`` must then be later than `time`.
  mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8]
}

extension LineFault {
  /// Accepts any parameters.
  public func check() throws(LineConfigurationError) {}
  /// Passes the bytes on as they are.
  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {}
  /// Never.
  public var nextForeignBytes: UInt64? { nil }
  /// The default: no bytes.
  public mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8] { [] }
}

extension LineFault {
  /// Checks for ``check()`` that a rate is a share of all trials.
  /// - Parameters:
  ///   - rate: 0 to 1.
  ///   - field: what it is called in the message.
  public func checkRate(_ rate: Double, _ field: String = "rate") throws(LineConfigurationError) {
    guard (0...1).contains(rate) else {
      throw LineConfigurationError(field: "\(Self.name) \(field)", "is \(rate): use a share from 0 to 1, such as 1e-5.")
    }
  }
}

/// A parameter of an emulated line that makes no sense.
public struct LineConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The parameter: `baud rate`, `bit-flips rate`.
  public let field: String
  /// Says what is wrong and what to write instead.
  public let message: String

  /// An error of one's own fault, for ``LineFault/check()``.
  /// - Parameters:
  ///   - field: which parameter; the message follows it.
  ///   - message: "is 7: use a share from 0 to 1."
  public init(field: String, _ message: String) {
    self.field = field
    self.message = message
  }

  /// The parameter, and what is wrong with it.
  public var description: String { "\(field) \(message)" }
}
