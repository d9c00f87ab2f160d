package import HTTP1Session
package import HTTP2Session
package import Logging
package import NIOCore

/// What a serving connection is told, whichever HTTP it speaks.
package struct ServerConfiguration: Sendable {
  /// How long a connection of HTTP/1.1 waits for its client.
  package typealias Timeouts = HTTP1ServerSession.Timeouts

  /// Names this hop in `Via` (RFC 9110 §7.6.3) and `Proxy-Status` (RFC 9209).
  package var hop: String
  /// Of what asks for a path, as HTTP/1.1 does: `https` where TLS ends here.
  package var scheme: StaticString = "http"
  /// How long a request may take until its response's head; `nil`: no limit.
  package var responseTimeout: TimeAmount?
  package var timeouts = Timeouts()
  /// The peers are Byway's own and may mark what their clients sent in absolute form, and of an upgrade its method and length;
  /// from others such marks are removed.
  package var trustsTargetForm = false
  /// What the streams of one connection of HTTP/2, which may ask for much at once and read nothing, are ahead of their reader
  /// beyond their shares, in bytes. Over a long way a stream needs it as its window.
  package var readAhead = 2 << 20
  /// The protocols that requests may go over to.
  package var upgrades = UpgradeRules()
  /// When an HTTP/1.1 client that is not heard is looked for, where it may be on this machine.
  package var absence = AbsenceTimes()
  /// The budget of what is held for the client, and for those that it reaches.
  package var memory = MemoryBudget.shared
  package var http1: HTTP1Configuration
  package var http2: HTTP2Configuration
  package var logger: Logger
  /// Told of each exchange that failed, on the event loop; of which one, where they are observed.
  package var failed: (@Sendable (BywayError, TraceID?) -> Void)?
  /// Counts the exchanges; `nil`: nobody does.
  package var tally: ExchangeTally?
  /// Who observes the exchanges; `nil`: nobody.
  package var observation: Observation?

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

/// The times after which a client that is not heard is looked for.
package struct AbsenceTimes: Sendable, Hashable {
  package var first = TimeAmount.seconds(1)
  package var next = TimeAmount.seconds(5)

  package init(first: TimeAmount = .seconds(1), next: TimeAmount = .seconds(5)) {
    self.first = first
    self.next = next
  }
}
