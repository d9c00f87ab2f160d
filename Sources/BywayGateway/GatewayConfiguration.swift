public import Byway
public import BywayTLS
public import Logging
public import NIOCore

/// What a gateway serves, where, and within which limits.
public struct GatewayConfiguration: Sendable {
  /// The links on which it accepts HTTP/2.
  public var links: [Link]
  /// Where requests go.
  public var origin: Origin
  /// What clients may reach besides the origin.
  public var allowed: [AllowRule] = []
  /// Whom to trust, who to be and which name to expect where the origin, or what is allowed besides it, speaks TLS.
  public var tls = TLSPolicy.defaults
  /// Where connections go on through another proxy; those to Unix sockets do not.
  public var upstreamProxy: UpstreamProxy?
  /// Protocols that requests may go over to, besides `websocket`, `tcp` and `SPDY/3.1`.
  public var allowedUpgrades: [UpgradeProtocol] = []
  /// What it answers at `/.well-known/byway`; `nil`: that is the origin's, like every other path.
  package var claim: DeviceClaim?
  /// Asked in this order before a request is routed.
  public var interceptors: [any Interceptor] = []
  /// The authority that requests to the origin carry. Where it is not the client's, fields that name the site are translated:
  /// `Origin`, `Referer` and `Destination` of requests; `Location`, `Content-Location`, `Refresh`, `Link` and the domains of cookies
  /// of responses.
  public var hostField = HostField.client
  /// Spells field names as `X-Serial` and not as `x-serial` in requests over HTTP/1.1, for servers that compare case.
  public var capitalizesFieldNames = false
  /// Adds `Forwarded` (RFC 7239) to requests.
  public var addsForwarded = false
  /// Open links at once; who comes beyond that waits until another has gone. Not of those over a line.
  public var maximumConnections = 1024
  /// Open connections to one origin at once, from one event loop; requests beyond that wait for one.
  public var maximumOriginConnections = 256
  /// How long connecting to an origin may take, TLS included; 10 s by default.
  public var connectTimeout = TimeAmount.seconds(10)
  /// From the end of a request to its response's head.
  public var responseTimeout = TimeAmount.seconds(60)
  /// Of silence within a response's body whose length was declared; `nil`: no limit. One without may pause as it likes.
  public var bodyTimeout: TimeAmount? = .minutes(5)
  /// When a link counts as dead while requests run; `nil`: not before the transport says so.
  public var liveness: Liveness? = .ofClient
  /// The same of an origin that speaks HTTP/2.
  public var originLiveness: Liveness? = .ofOrigin
  /// Told of each exchange, for metrics and an access log.
  public var observers: [any ExchangeObserver] = []
  /// Counts its exchanges; `nil`: nobody does.
  package var tally: ExchangeTally?
  /// Takes what happens to links and origins, and no content of messages.
  public var logger = Logger(label: "byway.gateway")

  /// A gateway's configuration; everything else is as the properties say.
  /// - Parameters:
  ///   - links: on which it accepts HTTP/2; at least one.
  ///   - origin: where requests go.
  public init(links: [Link], origin: Origin) {
    self.links = links
    self.origin = origin
  }
}
