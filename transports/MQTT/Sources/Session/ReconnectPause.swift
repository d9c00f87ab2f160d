import NIOCore

/// The pauses between attempts to connect to a broker again. They are random, because all devices lose a broker at once.
struct ReconnectPause: Equatable {
  private static let first = TimeAmount.milliseconds(200)
  private static let last = TimeAmount.seconds(2)

  private var longest = ReconnectPause.first

  /// Returns the next pause, which is at most twice as long as the one before.
  mutating func next() -> TimeAmount {
    defer { longest = min(longest * 2, Self.last) }
    return .nanoseconds(.random(in: longest.nanoseconds / 2...longest.nanoseconds))
  }

  mutating func reset() { longest = Self.first }
}
