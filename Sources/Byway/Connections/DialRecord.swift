import Logging
import NIOCore

/// The results of dialing a link: its state for reports, and the lines for the log. A value without clock.
struct DialRecord: Sendable {
  /// How long a connection must last to count as accepted. A refusal takes the other end a round trip: in TLS 1.3 a server rejects a
  /// certificate after the client's handshake is complete (RFC 8446 §4.4.2.4), and a hub asks for the name first.
  static let probation = TimeAmount.seconds(2)

  private(set) var state = ServedLinkState.dialing
  private var failures = RecurrenceLog()

  /// A connection has opened.
  /// - Returns: the level of this event in the log. After a refusal, the connection must last first.
  mutating func opened() -> Logger.Level {
    if case .refused = state { return .debug }
    state = .dialing
    return .info
  }

  /// The connection has lasted through its probation.
  /// - Returns: whether that is the event to log.
  mutating func lasted() -> Bool {
    failures = RecurrenceLog()
    guard case .refused = state else { return false }
    state = .dialing
    return true
  }

  /// The connection has ended.
  /// - Returns: the line for the log; `nil` if it ended without a refusal.
  mutating func ended(_ farewell: Farewell?, after life: TimeAmount, at now: NIODeadline) -> RecurrenceLog.Entry? {
    switch farewell {
    case .refused(let reason)?:
      return refused(reason, at: now)
    case .failed(let reason)? where life < Self.probation:
      return refused("The link failed as soon as it was open: \(reason)", at: now)
    case nil where life < Self.probation:
      return refused("The other end closed the link as soon as it was open, and gave no reason.", at: now)
    case .failed?, nil:
      return nil
    }
  }

  /// An attempt to open a connection has failed.
  mutating func failed(_ failure: Farewell, at now: NIODeadline) -> RecurrenceLog.Entry {
    switch failure {
    case .refused(let reason):
      return refused(reason, at: now)
    case .failed(let reason):
      enter(.down(reason: reason, since: now))
      return failures.failed(because: reason, at: now)
    }
  }

  private mutating func refused(_ reason: String, at now: NIODeadline) -> RecurrenceLog.Entry {
    enter(.refused(reason: reason, since: now))
    return failures.failed(because: reason, at: now)
  }

  /// Changes the state. A failure with the same reason keeps its beginning.
  private mutating func enter(_ next: ServedLinkState) {
    switch (state, next) {
    case (.down(let known, _), .down(let reason, _)) where known == reason,
      (.refused(let known, _), .refused(let reason, _)) where known == reason:
      break
    default: state = next
    }
  }
}
