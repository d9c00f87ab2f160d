public import Byway
public import BywayDevices
public import Logging

/// The configuration of a proxy: its address, its devices, and its clients.
public struct ProxyConfiguration: Sendable {
  /// The devices behind it.
  public var devices: DeviceDirectory
  /// The discovery of further devices; `nil`: none.
  package var discovery: DiscoverySettings?
  /// The content of the list of devices while it is empty; `nil`: only that it is.
  package var firstSteps: FirstSteps?
  /// The announcement of the devices in the network; `nil`: none.
  package var announcement: AnnouncementRules?
  /// The address for local clients: `unix:` or `tcp:`.
  public var listen: Link
  /// Names of this proxy, `HOST` or `HOST:PORT`, besides `localhost` and the loopback addresses. A request in origin form
  /// that names another host is answered with 421. Ignored if `listen` is a Unix socket.
  public var names: [String] = []
  /// Origins, `http://HOST[:PORT]`, whose web pages may use everything reached through this proxy. Other pages may use their own
  /// origin only. Ignored if `listen` is a Unix socket.
  public var allowedPages: [String] = []
  /// Protocols that requests may upgrade to, besides `websocket`, `tcp` and `SPDY/3.1`.
  public var allowedUpgrades: [UpgradeProtocol] = []
  /// Interceptors, called in this order before a request goes over the link.
  public var interceptors: [any Interceptor] = []
  /// Terminates TLS here for some hosts, whose requests then pass the interceptors. `nil`: this proxy cannot read tunnels.
  package var termination: (any TLSTermination)?
  /// The users and their rights; `nil`: every client may use every device.
  package var users: UserRules?
  /// The log of device use by users, and of refusals; `nil`: none.
  package var audit: (any AuditLog)?
  /// The maximum number of open client connections. Further clients wait until one is closed.
  public var maximumConnections = 1024
  /// How long a request waits for a device that cannot be reached; then it is answered with 503.
  public var patience = Duration.seconds(5)
  /// When the link counts as dead while requests run; `nil`: only when the transport reports it.
  public var liveness: Liveness? = .ofServer
  /// Observers of each exchange, for metrics and an access log.
  public var observers: [any ExchangeObserver] = []
  /// The counter of its exchanges; `nil`: they are not counted.
  package var tally: ExchangeTally?
  /// The log for events of the link and its clients. It never has content of messages.
  public var logger = Logger(label: "byway.proxy")

  /// Makes the configuration of a proxy for many devices, with the defaults of the properties.
  /// - Parameters:
  ///   - devices: the devices by name.
  ///   - listen: the address for local clients.
  public init(devices: DeviceDirectory, listen: Link) {
    self.devices = devices
    self.listen = listen
  }

  /// Makes the configuration of a proxy for one device, with the defaults of the properties.
  /// - Parameters:
  ///   - link: the link to its gateway.
  ///   - listen: the address for local clients.
  public init(link: Link, listen: Link) {
    self.init(devices: DeviceDirectory(main: link), listen: listen)
  }
}

extension ProxyConfiguration {
  /// Checks values for ``names`` and ``allowedPages``.
  /// - Throws: `BywayError` if one of them is invalid.
  package static func check(names: [String] = [], pages: [String] = []) throws {
    _ = try HostRules(names: names)
    _ = try PageRules(allowed: pages)
  }
}
