/// The pace of a line with a known rate: bytes that were handed to the driver occupy the line for a time (section 6).
struct Pacer {
  /// The time of a byte in units of 1/65,536 ms; 0 if the driver sets the pace.
  private var byteTime: UInt32 = 0
  /// The time at which the line has sent everything, and the fraction of a millisecond beyond that.
  private var end = Moment(milliseconds: 0)
  private var part: UInt16 = 0
  /// Whether a zero must precede the next frame (section 1).
  private var needsZero = false

  mutating func start(baud: UInt32, _ now: Moment) {
    byteTime = baud == 0 ? 0 : 655_360_000 / baud
    end = now
    part = 0
    needsZero = true
  }

  var isPaced: Bool { byteTime != 0 }

  /// Returns the milliseconds of this many bytes, rounded up; 0 if the driver sets the pace.
  func time(of count: Int) -> UInt32 { (UInt32(truncatingIfNeeded: count) &* byteTime &+ 0xFFFF) >> 16 }

  /// Returns the time at which the line is free.
  func wire(_ now: Moment) -> Moment { end.isDue(at: now) ? now : end }

  // MARK: - Zeros between frames

  /// The milliseconds of silence after which a zero must precede a frame.
  private static var quiet: UInt32 { 50 }

  /// Checks for a silence now, because the clock may wrap before the next frame.
  mutating func noteSilence(_ now: Moment) {
    if (end + Self.quiet).isDue(at: now) { needsZero = true }
  }

  /// Whether a zero must precede a frame that is handed to the driver now. The zero counts as sent.
  mutating func takeZero(_ now: Moment) -> Bool {
    defer { needsZero = false }
    return needsZero || now - end >= Self.quiet
  }

  /// Notes that a frame without a zero at its end was handed to the driver.
  mutating func oweZero() {
    needsZero = true
  }

  // MARK: - Bytes on the line

  /// Counts bytes that are handed to the driver.
  mutating func occupy(_ count: Int, _ now: Moment) {
    if end.isDue(at: now) {
      end = now
      part = 0
    }
    let time = UInt32(truncatingIfNeeded: count) &* byteTime &+ UInt32(part)
    end = end + time >> 16
    part = UInt16(truncatingIfNeeded: time)
  }

  /// Forgets the bytes that were handed to the driver before the line was lost.
  mutating func comeBack(_ now: Moment) {
    end = now
    needsZero = true
  }
}
