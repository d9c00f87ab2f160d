public import Byway
public import Logging
public import NIOCore

/// What a proxy listens on, which devices it leads to, and whom it answers.
public struct ProxyConfiguration: Sendable {
  /// The devices behind it.
  public var devices: DeviceDirectory
  /// What else is looked for; `nil`: nothing.
  package var discovery: DiscoverySettings?
  /// What the network is told of the devices; `nil`: nothing.
  package var announcement: AnnouncementRules?
  /// Where local clients connect: `unix:` or `tcp:`.
  public var listen: Link
  /// Names of this proxy, `HOST` or `HOST:PORT`, besides `localhost` and the loopback addresses. A request in origin form
  /// that names another host is answered with 421. Not looked at where `listen` is a Unix socket.
  public var names: [String] = []
  /// Origins, `http://HOST[:PORT]`, whose web pages may use what is reached through this proxy. Other pages may use their own
  /// origin only. Not looked at where `listen` is a Unix socket.
  public var allowedPages: [String] = []
  /// Protocols that requests may go over to, besides `websocket`, `tcp` and `SPDY/3.1`.
  public var allowedUpgrades: [UpgradeProtocol] = []
  /// Asked in this order before a request goes over the link.
  public var interceptors: [any Interceptor] = []
  /// Ends TLS here for some hosts, whose requests then pass the interceptors. `nil`: tunnels are closed to this proxy.
  package var termination: (any TLSTermination)?
  /// Who may use what; `nil`: everybody everything.
  package var users: UserRules?
  /// Told who uses which device, and who is refused; `nil`: nobody is.
  package var audit: (any AuditLog)?
  /// Open connections of clients at once; who comes beyond that waits until another has gone.
  public var maximumConnections = 1024
  /// How long a request waits for a device that cannot be reached; then it is answered with 503.
  public var patience = TimeAmount.seconds(5)
  /// When the link counts as dead while requests run; `nil`: not before the transport says so.
  public var liveness: Liveness? = .ofServer
  /// Told of each exchange, for metrics and an access log.
  public var observers: [any ExchangeObserver] = []
  /// Counts its exchanges; `nil`: nobody does.
  package var tally: ExchangeTally?
  /// Takes what happens to the link and its clients, and no content of messages.
  public var logger = Logger(label: "byway.proxy")

  /// The configuration of a proxy for many devices; everything else is as the properties say.
  /// - Parameters:
  ///   - devices: by their names.
  ///   - listen: where local clients connect.
  public init(devices: DeviceDirectory, listen: Link) {
    self.devices = devices
    self.listen = listen
  }

  /// The configuration of a proxy for one device; everything else is as the properties say.
  /// - Parameters:
  ///   - link: to its gateway.
  ///   - listen: where local clients connect.
  public init(link: Link, listen: Link) {
    self.init(devices: DeviceDirectory(main: link), listen: listen)
  }
}

extension ProxyConfiguration {
  /// - Throws: `BywayError` where one of these is not what ``names`` or ``allowedPages`` may have.
  package static func check(names: [String] = [], pages: [String] = []) throws {
    _ = try HostRules(names: names)
    _ = try PageRules(allowed: pages)
  }
}
