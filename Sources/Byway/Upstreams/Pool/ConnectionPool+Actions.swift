import NIOCore

extension ConnectionPool {
  struct Rules {
    /// The maximum number of open connections, where each carries one exchange.
    var maximumConnections = Int.max
    var maximumWaiting: Int
    /// How long exchanges that begin from now on wait while no connection can be opened. Zero: the first failure is final.
    var patience: TimeAmount
    var connectTimeout: TimeAmount
    var reuse = ConnectionReuse.forAll
    var sharing = GatewaySharing.newest
    /// Whether a connection is opened again after a loss, although no exchange needs it.
    var isKeptOpen = false
    var hasSeveralLinks: Bool
    /// Whether the remote end dials.
    var isAwaited: Bool
    /// Whether the owner opens or accepts connections itself, instead of getting them from a component that listens for many.
    var isOpenedHere: Bool
    /// Returns a random number from 0 to 1, which varies the pauses between attempts.
    var jitter: () -> Double
  }

  enum Action {
    /// Opens the best link that works, besides these.
    case open(without: Set<Int>, by: NIODeadline)
    /// Opens this link for a trial.
    case search(link: Int, by: NIODeadline)
    case awaitGateway
    /// Starts a connection for a trial, unless it stood by, and sends a PING where there is one.
    case test(Connection, isNew: Bool)
    case ping(Connection)
    /// Starts a connection for exchanges, or continues it.
    case use(Connection)
    case send(Request, on: Connection)
    case refuse(Request, Refusal)
    /// Tells an exchange that the attempt to connect for it has failed.
    case fail(Request, BywayError)
    /// Tells the waiting exchanges that an attempt to connect has failed.
    case failWaiting(BywayError)
    /// Tells the pings that wait for a connection the same.
    case failPings(BywayError)
    /// Tells the waiting exchanges what they wait for.
    case tellWant
    /// Tells the waiting exchanges the time.
    case tellTime
    /// Ends an idle tunnel.
    case reclaim(Request)
    /// Closes a connection when its exchanges have ended.
    case close(Connection)
    /// Ends a connection whose line is gone.
    case abort(Connection)
    /// Ends a connection that was on trial, and forgets it.
    /// - Parameter error: `nil` if it has passed, and is not needed.
    case giveUp(Connection, BywayError?)
    /// A better link has passed its trial.
    case passed(Connection)
    /// - Parameter isUrgent: whether an exchange waited for the link.
    case linkFailed(Int, BywayError, isUrgent: Bool)
    /// Another gateway has dialed.
    case replaced
  }

  /// Why an exchange gets no connection.
  enum Refusal {
    case tooManyWait
    case shutDown
  }

  /// The outcome for a connection that can take an exchange.
  enum Idleness {
    case serve(Request)
    case keep
    case close
    /// It is on trial.
    case nothing
  }
}
