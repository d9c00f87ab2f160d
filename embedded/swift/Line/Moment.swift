/// A time of a clock of milliseconds that may wrap.
struct Moment {
  var milliseconds: UInt32

  static func + (moment: Moment, time: UInt32) -> Moment { Moment(milliseconds: moment.milliseconds &+ time) }

  /// Returns the milliseconds from an earlier moment to this one.
  static func - (moment: Moment, earlier: Moment) -> UInt32 { moment.milliseconds &- earlier.milliseconds }

  /// Whether this moment is at or before `now`.
  func isDue(at now: Moment) -> Bool { Int32(bitPattern: now - self) >= 0 }
}
