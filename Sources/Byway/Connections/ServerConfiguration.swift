package import BywayHTTP1Session
package import BywayHTTP2Session
package import Logging
package import NIOCore

/// The configuration of a serving connection, for either HTTP version.
package struct ServerConfiguration: Sendable {
  /// How long an HTTP/1.1 connection waits for its client.
  package typealias Timeouts = HTTP1ServerSession.Timeouts

  /// Names this hop in `Via` (RFC 9110 §7.6.3) and `Proxy-Status` (RFC 9209).
  package var hop: String
  /// The scheme of requests without one, as in HTTP/1.1: `https` where TLS ends here.
  package var scheme: StaticString = "http"
  /// How long a request may take until its response's head; `nil`: no limit.
  package var responseTimeout: TimeAmount?
  package var timeouts = Timeouts()
  /// Whether peers are Byway hops, which may mark requests in absolute form, and an upgrade's method and length. From other peers such
  /// marks are removed.
  package var trustsTargetForm = false
  /// How many bytes the streams of one HTTP/2 connection may be ahead of their reader beyond their shares. A connection may request much at
  /// once and read nothing. Over a long distance a stream needs this as its window.
  package var readAhead = 2 << 20
  /// The protocols that requests may upgrade to.
  package var upgrades = UpgradeRules()
  /// When a silent HTTP/1.1 client is checked, where it may be on this machine.
  package var absence = AbsenceTimes()
  /// The memory budget for data held for the client, and for its targets.
  package var memory = MemoryBudget.shared
  package var http1: HTTP1Configuration
  package var http2: HTTP2Configuration
  package var logger: Logger
  /// The level at which it logs why the other end has ended it. Where this end dials, the dialing part reports that.
  package var endingLevel = Logger.Level.warning
  /// Called for each failed exchange, on the event loop; with its trace where exchanges are observed.
  package var failed: (@Sendable (BywayError, TraceID?) -> Void)?
  /// Counts the exchanges; `nil`: no count.
  package var tally: ExchangeTally?
  /// Observes the exchanges; `nil`: no observation.
  package var observation: Observation?

  /// Limits the log of reasons that peers give for closing.
  let farewells = SharedSparseLog()
  /// Limits the log of peers that break the protocol.
  let breaches = SharedSparseLog()

  package init(
    hop: String, responseTimeout: TimeAmount? = nil, http1: HTTP1Configuration = .defaults,
    http2: HTTP2Configuration = .defaults, logger: Logger
  ) {
    self.hop = hop
    self.responseTimeout = responseTimeout
    self.http1 = http1
    self.http2 = http2
    self.logger = logger
  }
}

/// The times after which a silent client is checked.
package struct AbsenceTimes: Sendable, Hashable {
  package var first = TimeAmount.seconds(1)
  package var next = TimeAmount.seconds(5)

  package init(first: TimeAmount = .seconds(1), next: TimeAmount = .seconds(5)) {
    self.first = first
    self.next = next
  }
}
