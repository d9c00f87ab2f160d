import Byway
import BywayDevices
import BywayPrimitives
import Logging
import NIOCore
import Synchronization

/// The rules by which a proxy admits requests, and the handler of admitted ones. Used on the proxy's event loop. An object, because each
/// request reads them.
final class ProxyTerms {
  let rules: IngressRules
  /// `nil`: users are not identified.
  let users: UserAuthenticator?
  /// Whether there is a default device, for requests that name none.
  let hasMain: Bool
  /// Whether a gateway is the peer on the default device's link. It decides which other servers may be reached.
  let leadsToGateway: Bool
  /// Terminates TLS in tunnels to some hosts.
  let termination: (any TLSTermination)?
  /// The configuration for serving requests from tunnels that end here.
  let tunnels: ServerConfiguration
  let next: any ExchangeHandler

  init(
    rules: IngressRules, users: UserAuthenticator?, hasMain: Bool, leadsToGateway: Bool,
    termination: (any TLSTermination)?, tunnels: ServerConfiguration, next: any ExchangeHandler
  ) {
    self.rules = rules
    self.users = users
    self.hasMain = hasMain
    self.leadsToGateway = leadsToGateway
    self.termination = termination
    self.tunnels = tunnels
    self.next = next
  }
}

/// The devices and rules that all connections of a proxy share, under the configuration in force.
///
/// `@unchecked Sendable`: properties that are not Sendable are used on `eventLoop` only.
final class ProxyState: @unchecked Sendable {
  let eventLoop: any EventLoop
  let devices: DeviceTable
  /// The list of devices. Used on the event loop.
  private(set) lazy var frontPage = FrontPage.handler(
    for: VisibleDevices(
      devices, { [weak self] in self?.visible(to: $0) ?? { _ in false } }, { [weak self] in self?.firstSteps },
      hubs: { [weak self] in await self?.publicHubs() ?? [] }),
    watchers)
  private let watchers = WatcherSlots()
  let audit: AuditRecorder
  let sessions = UserSessions()
  /// The tunnels whose content is served here. Each client may have as many as a browser opens at most through a proxy.
  let tunnels = Slots<ClientKey>(.max, ofOne: ProxyState.tunnelLimit)
  typealias TunnelSlot = Slots<ClientKey>.Slot
  static let tunnelLimit = 100
  let held = HeldContent()
  let hop: String
  private let checker = PasswordChecker()
  private let finder: DeviceFinder
  /// The rules in force. Used on the event loop.
  private(set) var terms: ProxyTerms
  private let traces = TraceSource()
  private let configuration: Mutex<ProxyConfiguration>

  /// A configuration, with everything whose preparation can fail.
  struct Preparation: Sendable {
    let configuration: ProxyConfiguration
    fileprivate let rules: IngressRules
    fileprivate let directory: DeviceDirectory
    let devices: DeviceTable.Preparation
    /// The previous configuration, whose interceptors may no longer be needed.
    fileprivate let predecessor: ProxyConfiguration?
  }

  /// - Throws: `BywayError` if a name is invalid.
  init(_ configuration: ProxyConfiguration, on eventLoop: any EventLoop) throws {
    let rules = try IngressRules(configuration)
    let hop = Hop.pseudonym("proxy")
    self.eventLoop = eventLoop
    self.hop = hop
    let devices = DeviceTable(
      try configuration.directory, OpenDevice.Terms(configuration, hop: hop), on: eventLoop)
    self.devices = devices
    finder = DeviceFinder(devices)
    audit = AuditRecorder(on: eventLoop)
    terms = Self.terms(configuration, rules, devices, checker, hop: hop, traces: traces)
    self.configuration = Mutex(configuration)
  }

  /// Returns a filter for the devices that a user may see, by the rules in force. Called on the event loop.
  private func visible(to user: RequestUser) -> (DeviceName?) -> Bool {
    guard let rules = terms.users?.rules else { return { _ in true } }
    guard let user = user.name else { return { _ in false } }
    return { name in rules.rights.allow(user, name.map { .device($0) } ?? .main) }
  }

  /// The content of an empty list. Users of a proxy do not learn of the ports of its machine. Safe on any thread.
  private var firstSteps: FirstSteps? { configuration.withLock { $0.users == nil ? $0.firstSteps : nil } }

  /// Returns the hubs for the list of devices. Users of a proxy do not learn who dials it. Safe on any thread.
  private func publicHubs() async -> [HubReport] {
    configuration.withLock { $0.users == nil } ? await devices.hubReports() : []
  }

  /// The address for local clients, as configured.
  var listen: LinkAddress { configuration.withLock(\.listen.address) }

  /// Listens on the addresses that gateways dial.
  /// - Throws: `BywayError` if it cannot listen on one of them.
  func open() async throws -> Preparation {
    try await prepare(configuration.withLock(\.self), after: nil)
  }

  /// Opens the resources of a reload first, so that a failure changes nothing.
  /// - Throws: `BywayError` if it cannot listen on an address that a gateway dials, or a name is invalid.
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

  /// Puts a configuration into force. Running exchanges continue under the old one, except those whose right is gone.
  func commit(_ next: Preparation) async {
    let configuration = next.configuration
    self.configuration.withLock { $0 = configuration }
    // This fails only if the loop has ended, and then no client is served any more.
    try? await eventLoop.submit {
      let before = self.terms.users?.rules
      self.terms = Self.terms(
        configuration, next.rules, self.devices, self.checker, hop: self.hop, traces: self.traces)
      self.audit.replace(configuration.audit)
      if let rules = configuration.users {
        self.sessions.cut { !rules.stillAllow($0.user, $0.resource, since: before) }
      }
      self.devices.replace(
        by: next.directory, OpenDevice.Terms(configuration, hop: self.hop), next.devices)
    }.get()
    await finder.look(by: configuration)
    await next.predecessor?.interceptors.retire(except: configuration.interceptors)
  }

  /// Ends the event streams, which would continue as long as their clients read.
  func endEvents() { watchers.close() }

  func shutDown() async {
    for interceptor in configuration.withLock(\.interceptors) { await interceptor.shutDown() }
    await finder.stop()
    try? await eventLoop.submit { self.audit.close() }.get()
    await checker.shutDown()
    await devices.shutDown()
  }

  /// Sends a request like an admitted request of a client.
  /// - Parameter listener: the name that observers get instead of an address.
  func send(_ request: Request, from listener: String) async throws -> Response {
    let configuration = configuration.withLock(\.self)
    let client = ExchangeClient(
      InnerHandler(self), on: LoopExecutor(eventLoop),
      observation: Observation(configuration.observers, listener: listener, traces: traces))
    return try await client.send(request)
  }

  /// Returns the configuration for a new connection. On its event loop.
  func server(_ listen: Link, of channel: (any Channel)? = nil, _ logger: Logger) -> ServerConfiguration {
    var server = Self.server(configuration.withLock(\.self), listen, channel, hop: hop, traces: traces)
    server.logger = logger
    return server
  }

  private static func server(
    _ configuration: ProxyConfiguration, _ listen: Link, _ channel: (any Channel)?, hop: String, traces: TraceSource
  ) -> ServerConfiguration {
    var server = ServerConfiguration(hop: hop, logger: configuration.logger)
    if listen.transport.isEncrypted(listen.address) { server.scheme = "https" }
    // Any client may connect. A browser's 100 requests fit, with cookies of 4 KiB each.
    server.http2.streams.heldHeaderSize = 512 << 10
    server.tally = configuration.tally
    server.upgrades.allowed = configuration.allowedUpgrades
    server.observation = Observation(
      configuration.observers, listener: listen.address.text, traces: traces, of: channel)
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
      configuration.termination == nil ? router : TLSOnlyHandler(rules.hosts, before: router)
    let directory = configuration.devices
    let intercepting =
      configuration.interceptors.isEmpty
      ? link
      : InterceptingHandler(
        configuration.interceptors, before: link, on: LoopExecutor(devices.eventLoop),
        destination: { rules.hosts.destination(of: $0, among: devices) })
    return ProxyTerms(
      rules: rules, users: configuration.users.map { UserAuthenticator($0, checker, on: devices.eventLoop) },
      hasMain: !directory.main.isEmpty, leadsToGateway: directory.main.first?.framing == .http2,
      termination: configuration.termination,
      tunnels: server(configuration, configuration.listen, nil, hop: hop, traces: traces),
      next: MaxForwardsHandler(before: intercepting) { request throws(BywayError) in
        try devices.device(for: request)
      })
  }
}

/// The handler of admitted requests, under the configuration in force.
private final class InnerHandler: ExchangeHandler {
  private let shared: ProxyState

  init(_ shared: ProxyState) {
    self.shared = shared
  }

  func begin(_ request: consuming ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    shared.terms.next.begin(request, respondingTo: sink)
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
      hop: hop, patience: TimeAmount(configuration.patience), liveness: configuration.liveness,
      logger: configuration.logger)
  }
}

extension ProxyConfiguration {
  /// The devices, with the names of this proxy reserved.
  /// - Throws: `BywayError` with code `invalidAddress` if a name is invalid.
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
