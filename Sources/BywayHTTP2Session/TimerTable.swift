import NIOCore

/// The timers of a session, reduced to one next deadline.
struct TimerTable {
  enum Timer: Int, CaseIterable {
    case settings, headerBlock, idle, ping, pong
  }

  private var deadlines = [NIODeadline?](repeating: nil, count: Timer.allCases.count)

  subscript(timer: Timer) -> NIODeadline? {
    get { deadlines[timer.rawValue] }
    set { deadlines[timer.rawValue] = newValue }
  }

  var next: NIODeadline? { deadlines.lazy.compactMap { $0 }.min() }

  /// Removes and returns an expired timer.
  mutating func popExpired(at now: NIODeadline) -> Timer? {
    for timer in Timer.allCases {
      guard let deadline = self[timer], deadline <= now else { continue }
      self[timer] = nil
      return timer
    }
    return nil
  }

  mutating func removeAll() {
    self = TimerTable()
  }
}
