public import Byway
public import Logging
public import NIOCore

/// What a proxy listens on, which link it uses, and whom it answers.
public struct ProxyConfiguration: Sendable {
  /// The link to the gateway.
  public var link: Link
  /// Where local clients connect: `unix:` or `tcp:`.
  public var listen: Link
  /// Names of this proxy, `HOST` or `HOST:PORT`, besides `localhost` and the loopback addresses. A request in origin form
  /// that names another host is answered with 421. Not looked at where `listen` is a Unix socket.
  public var names: [String] = []
  /// Origins, `http://HOST[:PORT]`, whose web pages may use what is reached through this proxy. Other pages may use their own
  /// origin only. Not looked at where `listen` is a Unix socket.
  public var allowedPages: [String] = []
  /// Asked in this order before a request goes over the link.
  public var interceptors: [any Interceptor] = []
  /// Ends TLS here for some hosts, whose requests then pass the interceptors. `nil`: tunnels are closed to this proxy.
  package var termination: (any TLSTermination)?
  /// Open connections of clients at once; who comes beyond that waits until another has gone.
  public var maximumConnections = 1024
  /// How long a request waits for a link that is down; then it is answered with 503.
  public var patience = TimeAmount.seconds(5)
  /// When the link counts as dead while requests run; `nil`: not before the transport says so.
  public var liveness: Liveness? = .ofServer
  /// Told of each exchange, for metrics and an access log.
  public var observers: [any ExchangeObserver] = []
  /// Counts its exchanges; `nil`: nobody does.
  package var tally: ExchangeTally?
  /// Takes what happens to the link and its clients, and no content of messages.
  public var logger = Logger(label: "byway.proxy")

  /// A proxy's configuration; everything else is as the properties say.
  /// - Parameters:
  ///   - link: to the gateway.
  ///   - listen: where local clients connect.
  public init(link: Link, listen: Link) {
    self.link = link
    self.listen = listen
  }
}

extension ProxyConfiguration {
  /// - Throws: `BywayError` where one of these is not what ``names`` or ``allowedPages`` may have.
  package static func check(names: [String] = [], pages: [String] = []) throws {
    _ = try HostRules(names: names)
    _ = try PageRules(allowed: pages)
  }
}
