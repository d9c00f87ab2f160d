/// A time without a line. It is not a ``LineFault``, because it affects the line as a whole, and can also be requested while the line is in
/// use.
public struct Cut: Sendable, Hashable {
  /// The effect on the bytes and on the device.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Bytes wait in the transmit queue, and are sent at the line rate afterwards: flow control, or a suspended adapter.
    case stall
    /// Bytes are sent and never arrive: a loose wire.
    case lose
    /// The device is gone, with all queued bytes: a USB adapter was unplugged. It returns under its name.
    case hangUp = "hang-up"
    /// A hang-up after which the device returns under another name: `ttyUSB1` for `ttyUSB0`.
    case rename

    /// Whether the device is closed, so that both ends notice the cut at once.
    package var closesDevice: Bool { self == .hangUp || self == .rename }
  }

  /// The kind of cut.
  public var kind: Kind
  /// The time since the creation of the line.
  public var start: Duration
  /// The length; `nil` for ever.
  public var length: Duration?

  /// Creates a cut at a given time.
  /// - Parameters:
  /// - kind: the kind of cut.
  /// - start: the time since the creation of the line.
  /// - length: the length; `nil` for ever.
  public init(_ kind: Kind, at start: Duration, for length: Duration? = nil) {
    self.kind = kind
    self.start = start
    self.length = length
  }

  func check() throws(LineConfigurationError) {
    guard start >= .zero, length.map({ $0 > .zero }) ?? true else {
      throw LineConfigurationError(field: "cut", "is negative: use times from 0 on.")
    }
  }
}

/// The cuts of a line in emulated time.
struct CutSchedule: Sendable {
  private struct Window: Sendable {
    var kind: Cut.Kind
    var start: UInt64
    var end: UInt64
  }

  private var windows: [Window]

  init(_ cuts: [Cut]) {
    windows = cuts.map { cut in
      let start = cut.start.nanoseconds
      return Window(kind: cut.kind, start: start, end: cut.length.map { start + $0.nanoseconds } ?? .max)
    }
  }

  /// Returns the cut in effect at this time. If there are several, it is the one that was requested last.
  func kind(at time: UInt64) -> Cut.Kind? {
    if windows.isEmpty { return nil }
    return windows.last { $0.start <= time && time < $0.end }?.kind
  }

  /// Returns the next time at which the result of ``kind(at:)`` may change.
  func nextChange(after time: UInt64) -> UInt64? {
    if windows.isEmpty { return nil }
    return windows.lazy.flatMap { [$0.start, $0.end] }.filter { $0 > time && $0 < .max }.min()
  }

  mutating func begin(_ kind: Cut.Kind, at time: UInt64) {
    windows.append(Window(kind: kind, start: time, end: .max))
  }

  /// Ends all cuts that have begun.
  mutating func end(at time: UInt64) {
    windows.removeAll { $0.start <= time }
  }
}
