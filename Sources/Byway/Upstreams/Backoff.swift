package import NIOCore

/// The pause before the next attempt: doubles with each failure, with jitter, so that many clients of one gateway do not retry in step.
package struct Backoff: Sendable {
  package var initial = TimeAmount.milliseconds(100)
  package var maximum = TimeAmount.seconds(5)
  private var failures = 0

  package init() {}

  package mutating func reset() {
    failures = 0
  }

  package mutating func fail() {
    failures += 1
  }

  /// - Parameter fraction: a random number from 0 to 1.
  /// - Returns: zero before the first failure.
  package func pause(fraction: Double) -> TimeAmount {
    guard failures > 0 else { return .zero }
    let doubled = initial.nanoseconds << Int64(min(failures - 1, 16))
    let ceiling = min(doubled, maximum.nanoseconds)
    // Half of the pause is fixed, so that a peer that is down is never retried in a busy loop.
    return .nanoseconds(ceiling / 2 + Int64(Double(ceiling / 2) * min(max(fraction, 0), 1)))
  }
}
