/// The timers of an end (section 6). The bit of a timer in `running` is set while it runs.
struct Timers {
  enum Timer: UInt8 {
    case acknowledgement
    case question
    case closedWindow
    case keepalive
    case silence
    case patience
    case closing
    case grace
    case partialFrame
  }

  static var count: Int { 9 }

  private var running: UInt16 = 0
  private var times: InlineArray<9, Moment> = .init(repeating: Moment(milliseconds: 0))

  func isRunning(_ timer: Timer) -> Bool { running >> UInt16(timer.rawValue) & 1 != 0 }

  @inline(never)
  mutating func start(_ timer: Timer, _ moment: Moment) {
    running |= 1 << UInt16(timer.rawValue)
    times[Int(timer.rawValue)] = moment
  }

  mutating func stop(_ timer: Timer) {
    running &= ~(1 << UInt16(timer.rawValue))
  }

  mutating func stopAll() {
    running = 0
  }

  /// Stops all timers of the session.
  mutating func endSession() {
    running &= 1 << UInt16(Timer.partialFrame.rawValue)
  }

  /// Stops the first due timer from a number on, and returns it.
  mutating func takeDue(from number: UInt8, at now: Moment) -> Timer? {
    for number in number..<UInt8(Self.count) {
      guard let timer = Timer(rawValue: number), isRunning(timer), times[Int(number)].isDue(at: now) else { continue }
      stop(timer)
      return timer
    }
    return nil
  }

  /// Returns the milliseconds until the first timer is due, at most `time`.
  mutating func firstDue(before time: UInt32, at now: Moment) -> UInt32 {
    var least = time
    for number in 0..<Self.count where running >> UInt16(number) & 1 != 0 {
      least = min(least, times[number].isDue(at: now) ? 0 : times[number] - now)
    }
    return least
  }
}
