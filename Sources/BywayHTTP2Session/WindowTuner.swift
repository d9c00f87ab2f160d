/// Estimates the window that a stream needs so that the peer never waits for credit: twice the bytes that arrive in one round
/// trip, measured between a PING and its answer.
struct WindowTuner {
  /// The window for a stream whose reader keeps up.
  private(set) var target: Int
  private let maximum: Int
  /// The number of bytes before the next sample. Small exchanges never reach it, and cause no PING.
  private var pause: Int
  private var passed = 0
  /// Whether the last sample enlarged the target.
  private var hasGrown = true
  /// The bytes received since the outstanding PING.
  private var sample: Int?

  init(initial: Int, maximum: Int) {
    target = initial
    self.maximum = maximum
    pause = initial
  }

  /// Counts body bytes. Returns `true` if a PING should be sent now.
  mutating func received(_ count: Int) -> Bool {
    if let bytes = sample {
      sample = bytes + count
      return false
    }
    guard target < maximum else { return false }
    guard passed >= pause else {
      passed += count
      return false
    }
    passed = 0
    sample = count
    return true
  }

  mutating func answered() {
    guard let bytes = sample else { return }
    sample = nil
    if 2 * bytes > target {
      target = min(maximum, 2 * bytes)
      pause = 0
      hasGrown = true
    } else {
      // The sample started during a burst, or the window does not limit the peer. Sample again, but less and less often.
      pause = hasGrown ? 0 : min(max(2 * pause, target), 64 * target)
      hasGrown = false
    }
  }

  /// Drops the sample, because no PING could be sent.
  mutating func cancel() {
    sample = nil
  }
}
