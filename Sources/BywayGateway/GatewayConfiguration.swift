public import Byway
package import BywayDevices
public import BywayTLS
public import Logging

/// The configuration of a gateway: its links, its origin, and its limits.
public struct GatewayConfiguration: Sendable {
  /// The links on which it accepts HTTP/2.
  public var links: [Link]
  /// The target of requests.
  public var origin: Origin
  /// Rules for servers that clients may reach in addition to the origin.
  public var allowed: [AllowRule] = []
  /// The trusted authorities, own certificates and expected names for TLS to the origin and to other allowed servers.
  public var tls = TLSPolicy.defaults
  /// The proxy for outgoing connections. Connections to Unix sockets do not use it.
  public var upstreamProxy: UpstreamProxy?
  /// Protocols that requests may upgrade to, besides `websocket`, `tcp` and `SPDY/3.1`.
  public var allowedUpgrades: [UpgradeProtocol] = []
  /// The answer at `/.well-known/byway`; `nil`: that path goes to the origin, like every other path.
  package var claim: DeviceClaim?
  /// Interceptors, called in this order before a request is routed.
  public var interceptors: [any Interceptor] = []
  /// The authority in requests to the origin. If it is not the client's, fields that name the site are translated: `Origin`,
  /// `Referer` and `Destination` of requests; `Location`, `Content-Location`, `Refresh`, `Link` and the domains of cookies of
  /// responses.
  public var hostField = HostField.client
  /// Whether field names are written as `X-Serial`, not `x-serial`, in HTTP/1.1 requests, for servers that compare case.
  public var capitalizesFieldNames = false
  /// Whether `Forwarded` (RFC 7239) is added to requests.
  public var addsForwarded = false
  /// The maximum number of open links, not counting those over a line. Further clients wait until one is closed.
  public var maximumConnections = 1024
  /// The maximum number of open connections to one origin, for each event loop. Further requests wait for one.
  ///
  /// Each link carries at most this number of requests at once, but at least 16. So one full link does not make another client's requests
  /// wait here, where all clients of the link look like one.
  public var maximumOriginConnections = streams
  /// The time limit for connecting to an origin, including TLS; 10 s by default.
  public var connectTimeout = Duration.seconds(10)
  /// The time limit from the end of a request to the head of its response.
  public var responseTimeout = Duration.seconds(60)
  /// The maximum pause within a response's body of declared length; `nil`: no limit. A body without a declared length may pause
  /// for any time.
  public var bodyTimeout: Duration? = .seconds(300)
  /// When a link counts as dead while requests run; `nil`: only when the transport reports it.
  public var liveness: Liveness? = .ofClient
  /// The same for the connection to an HTTP/2 origin.
  public var originLiveness: Liveness? = .ofOrigin
  /// Observers of each exchange, for metrics and an access log.
  public var observers: [any ExchangeObserver] = []
  /// The counter of its exchanges; `nil`: they are not counted.
  package var tally: ExchangeTally?
  /// The log for events of links and origins. It never has content of messages.
  public var logger = Logger(label: "byway.gateway")

  /// The maximum number of requests that a link carries at once.
  static let streams = 1024

  /// Makes a gateway's configuration, with the defaults of the properties.
  /// - Parameters:
  ///   - links: the links on which it accepts HTTP/2; at least one.
  ///   - origin: the target of requests.
  public init(links: [Link], origin: Origin) {
    self.links = links
    self.origin = origin
  }
}
