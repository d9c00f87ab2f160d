/// A fault of a line. docs/testing-with-bad-lines.md shows how to write one.
///
/// A fault is a value. The line has its own copy, and calls it with bytes in the order of the wire. With the same seed, it gets the same
/// random numbers, whatever other faults there are. Its decisions must not depend on how the bytes are split into calls.
public protocol LineFault: Sendable {
  /// The name of the fault in messages, such as `bit-flips`. It also selects the random numbers of the fault.
  static var name: String { get }

  /// Checks the parameters before use.
  func check() throws(LineConfigurationError)

  /// Changes, drops, adds or delays bytes.
  mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64)

  /// The next time in nanoseconds at which the fault writes bytes of its own; `nil` for never.
  var nextForeignBytes: UInt64? { get }

  /// Returns the bytes of the fault at that time. The line calls it when the wire is free, and sends these bytes before those that wait.
  /// ``nextForeignBytes`` must be later than `time` afterwards.
  mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8]
}

extension LineFault {
  /// Accepts any parameters.
  public func check() throws(LineConfigurationError) {}
  /// Leaves the bytes unchanged.
  public mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {}
  /// The default: no bytes at any time.
  public var nextForeignBytes: UInt64? { nil }
  /// The default: no bytes.
  public mutating func foreignBytes(at time: UInt64, using random: inout SplitMix64) -> [UInt8] { [] }
}

extension LineFault {
  /// Checks that a rate is from 0 to 1. For use in ``check()``.
  /// - Parameters:
  /// - rate: the rate.
  /// - field: the name of the parameter in the message.
  public func checkRate(_ rate: Double, _ field: String = "rate") throws(LineConfigurationError) {
    guard (0...1).contains(rate) else {
      throw LineConfigurationError(field: "\(Self.name) \(field)", "is \(rate): use a share from 0 to 1, such as 1e-5.")
    }
  }
}

/// An error of a parameter of an emulated line.
public struct LineConfigurationError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The name of the parameter: `baud rate`, `bit-flips rate`.
  public let field: String
  /// The message: what is wrong, and what to write instead.
  public let message: String

  /// Creates an error of your own fault, for ``LineFault/check()``.
  /// - Parameters:
  /// - field: the parameter. The message follows it.
  /// - message: for example "is 7: use a share from 0 to 1."
  public init(field: String, _ message: String) {
    self.field = field
    self.message = message
  }

  /// The parameter and the message.
  public var description: String { "\(field) \(message)" }
}
