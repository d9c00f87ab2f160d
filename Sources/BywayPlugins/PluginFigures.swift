package import NIOCore

/// The counts of a plugin since it was configured.
package struct PluginFigures: Sendable, Hashable {
  /// A kind of failure, as in `byway status`.
  package enum Failure: String, Sendable, CaseIterable {
    /// It cannot be started or reached.
    case unavailable
    /// It ended, or closed its connection, before it answered.
    case lost
    /// It broke HTTP, or does not speak it.
    case invalid
    /// It exceeded its time.
    case late
    /// It made a change that is not allowed.
    case refused
    /// It sent a request to the beginning of its chain.
    case loop
  }

  /// The requests that it got, or should have got.
  package internal(set) var requests = 0
  package internal(set) var failures: [Failure: Int] = [:]
  /// The sum of the time that it took itself until the heads of its responses.
  package internal(set) var time = TimeAmount.zero
  /// The time until the head of the latest response; `nil` before the first.
  package internal(set) var lastTime: TimeAmount?

  package init() {}

  mutating func answered(in time: TimeAmount) {
    self.time = self.time + time
    lastTime = time
  }
}
