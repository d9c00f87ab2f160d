/// The pace of a line of a known rate: what was handed to the driver occupies the wire for a time (section 6).
struct Pacer {
  /// The time of a byte in 1/65,536 ms; 0 if the driver sets the pace.
  private var byteTime: UInt32 = 0
  /// When the line has sent all that it was given, and the part of a millisecond beyond that.
  private var end = Moment(milliseconds: 0)
  private var part: UInt16 = 0
  /// A zero must precede the next frame (section 1).
  private var needsZero = false

  mutating func start(baud: UInt32, _ now: Moment) {
    byteTime = baud == 0 ? 0 : 655_360_000 / baud
    end = now
    part = 0
    needsZero = true
  }

  var isPaced: Bool { byteTime != 0 }

  /// The time of so many bytes, rounded up; 0 if the driver sets the pace.
  func time(of count: Int) -> UInt32 { (UInt32(truncatingIfNeeded: count) &* byteTime &+ 0xFFFF) >> 16 }

  /// When the wire is free.
  func wire(_ now: Moment) -> Moment { end.isDue(at: now) ? now : end }

  // MARK: - Zeros between frames

  /// A silence after which a zero must precede a frame.
  private static var quiet: UInt32 { 50 }

  /// Notes a silence now, because the clock may wrap before the next frame.
  mutating func noteSilence(_ now: Moment) {
    if (end + Self.quiet).isDue(at: now) { needsZero = true }
  }

  /// Whether a zero must precede a frame that is handed over now. It is counted as sent.
  mutating func takeZero(_ now: Moment) -> Bool {
    defer { needsZero = false }
    return needsZero || now - end >= Self.quiet
  }

  /// A frame without a zero at its end is handed over.
  mutating func oweZero() {
    needsZero = true
  }

  // MARK: - Occupation

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

  /// The line was lost and is back: what was handed over before is gone.
  mutating func comeBack(_ now: Moment) {
    end = now
    needsZero = true
  }
}
