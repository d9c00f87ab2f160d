/// Estimates how large a stream's window must be so that the peer never waits for credit: twice the bytes that arrive
/// in one round trip, measured between a PING and its answer.
struct WindowTuner {
  /// What a stream whose reader keeps up deserves.
  private(set) var target: Int
  private let maximum: Int
  /// Bytes to let pass before the next sample. Small exchanges never get that far, and are never bothered by a PING.
  private var pause: Int
  private var passed = 0
  /// By the last sample.
  private var hasGrown = true
  /// Bytes since the PING that is under way.
  private var sample: Int?

  init(initial: Int, maximum: Int) {
    target = initial
    self.maximum = maximum
    pause = initial
  }

  /// Counts body bytes; true where a PING should now be sent.
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
      // The sample began in mid-burst, or the window is not what holds the peer back: look again, but ever more rarely.
      pause = hasGrown ? 0 : min(max(2 * pause, target), 64 * target)
      hasGrown = false
    }
  }

  /// No PING could be sent.
  mutating func abandon() {
    sample = nil
  }
}
