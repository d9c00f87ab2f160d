import NIOCore

/// The test of a connection before it gets exchanges.
///
/// With HTTP/2 the remote end must answer PINGs in time, for as long as the test takes. SETTINGS prove nothing, because an end sends them
/// before it has received anything. An HTTP/1.1 server sends nothing before it gets a request, so the test is whether it keeps the connection
/// open. A pure state machine: time is an argument.
struct ConnectionTrial<Connection: PooledConnection> {
  enum Step {
    case nothing
    case ping
    case passed
    case failed(BywayError)
  }

  private enum State {
    /// No answer yet.
    case unanswered
    case well(since: NIODeadline)
  }

  /// Between an answer and the next PING.
  private static var pause: TimeAmount { .milliseconds(500) }

  let connection: Connection
  /// Whether the connection was in use before.
  let hasStoodBy: Bool
  /// The links that were tried for it.
  let tried: Set<Int>
  /// How long each answer may take.
  private let patience: TimeAmount
  /// How long the connection must keep answering.
  private let duration: TimeAmount
  private var state: State
  private var isPinged: Bool
  /// When ``timePassed(at:)`` is due.
  private(set) var deadline: NIODeadline

  init(
    _ connection: Connection, within patience: TimeAmount, for duration: TimeAmount = .zero, hasStoodBy: Bool = false,
    tried: Set<Int> = [], at now: NIODeadline
  ) {
    self.connection = connection
    self.hasStoodBy = hasStoodBy
    self.tried = tried
    self.patience = patience
    self.duration = duration
    isPinged = Connection.isMultiplexed
    state = isPinged ? .unanswered : .well(since: now)
    deadline = now + (isPinged ? patience : duration)
  }

  /// Whether the remote end has answered at all.
  var hasAnswered: Bool {
    if case .well = state { true } else { false }
  }

  mutating func answered(at now: NIODeadline) -> Step {
    switch state {
    case .unanswered:
      state = .well(since: now)
      if duration <= .zero { return .passed }
      deadline = now + patience
      return .ping
    case .well(let start):
      let left = start + duration - now
      if left <= .zero { return .passed }
      isPinged = false
      deadline = now + min(left, Self.pause)
      return .nothing
    }
  }

  mutating func timePassed(at now: NIODeadline) -> Step {
    guard now >= deadline else { return .nothing }
    if !Connection.isMultiplexed { return .passed }
    if isPinged {
      return .failed(
        BywayError(
          .linkUnavailable, "\(connection.name) opened, but its far end does not answer.", processing: .none))
    }
    isPinged = true
    deadline = now + patience
    return .ping
  }

  /// The connection takes no more streams. Its end follows with its own reason, such as a failure, if it has never answered.
  func refused() -> Step {
    guard hasAnswered else { return .nothing }
    return .failed(BywayError(.refused, "\(connection.name) takes no more requests.", processing: .none))
  }
}
