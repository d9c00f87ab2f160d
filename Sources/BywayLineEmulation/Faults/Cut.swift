/// A time without a line. Not a ``LineFault``: it happens to the line, not to its bytes, and may be asked for while the
/// line is in use.
public struct Cut: Sendable, Hashable {
  /// The effect on the bytes and on the device.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// Bytes wait in the transmit queue and go on at line rate afterwards: flow control, a suspended adapter.
    case stall
    /// Bytes leave and never arrive: a loose wire.
    case lose
    /// The device is gone, with all that was queued: a USB adapter pulled. It comes back under its name.
    case hangUp = "hang-up"
    /// A hang-up after which the device returns under another name: `ttyUSB1` for `ttyUSB0`.
    case rename

    /// Whether both ends are told, rather than left to notice.
    package var closesDevice: Bool { self == .hangUp || self == .rename }
  }

  /// The kind of cut.
  public var kind: Kind
  /// Since the line began.
  public var start: Duration
  /// `nil` for ever.
  public var length: Duration?

  /// A cut at a time of its own.
  /// - Parameters:
  ///   - kind: what is cut.
  ///   - start: since the line began.
  ///   - length: `nil` for ever.
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

  /// Returns the cut in effect at this time: of several, the one that was requested last.
  func kind(at time: UInt64) -> Cut.Kind? {
    if windows.isEmpty { return nil }
    return windows.last { $0.start <= time && time < $0.end }?.kind
  }

  /// When the answer may next be another.
  func nextChange(after time: UInt64) -> UInt64? {
    if windows.isEmpty { return nil }
    return windows.lazy.flatMap { [$0.start, $0.end] }.filter { $0 > time && $0 < .max }.min()
  }

  mutating func begin(_ kind: Cut.Kind, at time: UInt64) {
    windows.append(Window(kind: kind, start: time, end: .max))
  }

  /// Ends every cut that has begun.
  mutating func end(at time: UInt64) {
    windows.removeAll { $0.start <= time }
  }
}
