import Byway
import Logging
import NIOCore
import Synchronization

/// By which rules a proxy lets requests through, and where they go then. Used on the proxy's event loop.
struct ProxyTerms {
  let rules: IngressRules
  /// `nil`: nobody asks who it is.
  let users: UserDesk?
  /// There is a device for those who name none.
  let hasMain: Bool
  /// The default device's far end judges which targets besides its own may be reached.
  let leadsToGateway: Bool
  /// Where tunnels may be ended.
  let inspection: (any TLSTermination)?
  /// How what comes out of tunnels that end here is served.
  let tunnels: ServerConfiguration
  let next: any ExchangeHandler
}

/// The way to the devices that all connections of a proxy share, by the configuration in force.
///
/// `@unchecked Sendable`: what is not Sendable is touched on `eventLoop` only.
final class ProxyWay: @unchecked Sendable {
  let eventLoop: any EventLoop
  let devices: DeviceTable
  /// On the event loop.
  private(set) lazy var frontPage = FrontPage.handler(
    for: VisibleDevices(devices) { [weak self] in self?.visible(to: $0) ?? { _ in false } }, watchers)
  private let watchers = WatcherSeats()
  let audit: AuditDesk
  let sessions = UserSessions()
  let held = HeldContent()
  let hop: String
  private let checker = PasswordChecker()
  private let finder: DeviceFinder
  /// On the event loop.
  private(set) var terms: ProxyTerms
  private let traces = TraceSource()
  private let configuration: Mutex<ProxyConfiguration>

  /// A configuration, and what it needs that could fail.
  struct Preparation: Sendable {
    let configuration: ProxyConfiguration
    fileprivate let rules: IngressRules
    fileprivate let directory: DeviceDirectory
    let devices: DeviceTable.Preparation
    /// Whose interceptors it may not need any more.
    fileprivate let predecessor: ProxyConfiguration?
  }

  /// - Throws: `BywayError` where a name is none.
  init(_ configuration: ProxyConfiguration, on eventLoop: any EventLoop) throws {
    let rules = try IngressRules(configuration)
    let hop = Hop.pseudonym("proxy")
    self.eventLoop = eventLoop
    self.hop = hop
    let devices = DeviceTable(
      try configuration.directory, OpenDevice.Terms(configuration, hop: hop), on: eventLoop)
    self.devices = devices
    finder = DeviceFinder(devices)
    audit = AuditDesk(on: eventLoop)
    terms = Self.terms(configuration, rules, devices, checker, hop: hop, traces: traces)
    self.configuration = Mutex(configuration)
  }

  /// Which devices somebody sees, by the rules in force. On the event loop.
  private func visible(to visitor: Visitor) -> (DeviceName?) -> Bool {
    guard let rules = terms.users?.rules else { return { _ in true } }
    guard let user = visitor.name else { return { _ in false } }
    return { name in rules.rights.allow(user, name.map { .device($0) } ?? .main) }
  }

  /// Where local clients connect, as it was written.
  var listen: LinkAddress { configuration.withLock(\.listen.address) }

  /// Listens where gateways dial.
  /// - Throws: `BywayError` where that cannot be listened on.
  func open() async throws -> Preparation {
    try await prepare(configuration.withLock(\.self), after: nil)
  }

  /// What a reload opens first, so that nothing has changed where it cannot be.
  /// - Throws: `BywayError` where a gateway is to dial and it cannot be listened on, or a name is none.
  func prepare(_ configuration: ProxyConfiguration) async throws -> Preparation {
    try await prepare(configuration, after: self.configuration.withLock(\.self))
  }

  private func prepare(
    _ configuration: ProxyConfiguration, after predecessor: ProxyConfiguration?
  ) async throws -> Preparation {
    if let passwords = configuration.users?.passwords { try checker.prepare(for: passwords) }
    let directory = try configuration.directory
    return Preparation(
      configuration: configuration, rules: try IngressRules(configuration), directory: directory,
      devices: try await devices.prepare(directory, OpenDevice.Terms(configuration, hop: hop)),
      predecessor: predecessor)
  }

  /// What has begun goes on as it began.
  func commit(_ next: Preparation) async {
    let configuration = next.configuration
    self.configuration.withLock { $0 = configuration }
    // Where the loop has ended nobody is served any more.
    try? await eventLoop.submit {
      let before = self.terms.users?.rules
      self.terms = Self.terms(
        configuration, next.rules, self.devices, self.checker, hop: self.hop, traces: self.traces)
      self.audit.replace(configuration.audit)
      if let rules = configuration.users {
        self.sessions.cut { !rules.stillAllow($0.visitor, $0.resource, since: before) }
      }
      self.devices.replace(
        by: next.directory, OpenDevice.Terms(configuration, hop: self.hop), next.devices)
    }.get()
    await finder.look(by: configuration)
    await next.predecessor?.interceptors.retire(except: configuration.interceptors)
  }

  /// Ends what would go on for as long as anybody listens.
  func endEvents() { watchers.close() }

  func shutDown() async {
    for interceptor in configuration.withLock(\.interceptors) { await interceptor.shutDown() }
    await finder.stop()
    try? await eventLoop.submit { self.audit.close() }.get()
    await checker.shutDown()
    await devices.shutDown()
  }

  /// Sends a request as if a client had been let in with it.
  /// - Parameter listener: what observers are told in the place of an address.
  func send(_ request: Request, from listener: String) async throws -> Response {
    let configuration = configuration.withLock(\.self)
    let client = ExchangeClient(
      InnerHandler(self), on: LoopExecutor(eventLoop),
      observation: Observation(configuration.observers, listener: listener, traces: traces))
    return try await client.send(request)
  }

  /// For a connection that opens now.
  func server(_ listen: Link, _ logger: Logger) -> ServerConfiguration {
    var server = Self.server(configuration.withLock(\.self), listen, hop: hop, traces: traces)
    server.logger = logger
    return server
  }

  private static func server(
    _ configuration: ProxyConfiguration, _ listen: Link, hop: String, traces: TraceSource
  ) -> ServerConfiguration {
    var server = ServerConfiguration(hop: hop, logger: configuration.logger)
    if listen.transport.isEncrypted(listen.address) { server.scheme = "https" }
    // Anyone may connect. A browser's hundred requests have room, with cookies of 4 KiB each.
    server.http2.streams.heldHeaderSize = 512 << 10
    server.tally = configuration.tally
    server.upgrades.allowed = configuration.allowedUpgrades
    server.observation = Observation(configuration.observers, listener: listen.address.text, traces: traces)
    return server
  }

  private static func terms(
    _ configuration: ProxyConfiguration, _ rules: IngressRules, _ devices: DeviceTable, _ checker: PasswordChecker,
    hop: String, traces: TraceSource
  ) -> ProxyTerms {
    let devicesByName = DeviceRouter(devices)
    let router: any ExchangeHandler =
      configuration.users.map { RightsHandler($0.rights, rules.hosts, before: devicesByName) } ?? devicesByName
    let link: any ExchangeHandler =
      configuration.termination == nil ? router : SealedHandler(rules.hosts, before: router)
    let directory = configuration.devices
    let intercepting =
      configuration.interceptors.isEmpty
      ? link
      : InterceptingHandler(
        configuration.interceptors, before: link, on: LoopExecutor(devices.eventLoop),
        destination: { rules.hosts.destination(of: $0, among: devices) })
    return ProxyTerms(
      rules: rules, users: configuration.users.map { UserDesk($0, checker, on: devices.eventLoop) },
      hasMain: !directory.main.isEmpty, leadsToGateway: directory.main.first?.framing == .http2,
      inspection: configuration.termination,
      tunnels: server(configuration, configuration.listen, hop: hop, traces: traces),
      next: LastRecipient(before: intercepting) { fields throws(BywayError) in
        try devices.device(for: fields).upstream
      })
  }
}

/// Where requests go that were let in, by the configuration in force.
private final class InnerHandler: ExchangeHandler {
  private let way: ProxyWay

  init(_ way: ProxyWay) {
    self.way = way
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    way.terms.next.begin(request, respondingTo: sink)
  }
}

extension DeviceFinder {
  fileprivate func look(by configuration: ProxyConfiguration) async {
    await look(as: configuration.discovery, besides: configuration.devices, logger: configuration.logger)
  }
}

extension OpenDevice.Terms {
  fileprivate init(_ configuration: ProxyConfiguration, hop: String) {
    self.init(
      hop: hop, patience: configuration.patience, liveness: configuration.liveness, logger: configuration.logger)
  }
}

extension ProxyConfiguration {
  /// The devices, none of which has a name of this proxy.
  /// - Throws: `BywayError` with code `invalidAddress` where a name is none.
  fileprivate var directory: DeviceDirectory {
    get throws { devices.reserving(try HostRules.read(names)) }
  }
}

extension IngressRules {
  /// - Throws: `BywayError` with code `invalidAddress`.
  init(_ configuration: ProxyConfiguration) throws {
    let directory = try configuration.directory
    try self.init(
      hosts: HostRules(names: configuration.names, devices: directory.isUnnamed ? nil : directory.hosts),
      pages: PageRules(allowed: configuration.allowedPages))
  }
}
