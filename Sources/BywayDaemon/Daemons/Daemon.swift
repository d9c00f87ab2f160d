import Byway
package import BywayDaemonProcess
import BywayInspector
import BywayLibC
import BywayPlugins
import BywayPrimitives
import BywayProxy
import BywayTerminal
import Logging
import NIOCore

/// The gateways or proxies of one process, by their names, and the change from one plan to the next.
package actor Daemon<Member: DaemonMember>: Service {
  /// A running gateway or proxy.
  struct Running {
    final class Identity: Sendable {}

    let identity: Identity
    var name: String
    let member: Member
    var used: Set<InterceptionFiles.Key>
    /// ``DaemonMember/places(of:)``
    var places: [String]
    /// ``DaemonPlan/Part/fixed`` as of the start.
    let fixed: [String: String]
  }

  private let name: DaemonName
  private let start = WallTime.now().seconds
  let source: DaemonPlan<Member>.Source
  let manager: ServiceManager
  let logger: Logger
  let observation: DaemonObservation
  let tally = ExchangeTally()
  private var servers: [LocalServer] = []
  private var inspector: InspectorService?
  /// The bound address at which metrics are served.
  private var metricsAddress: LinkAddress?
  private var place: ControlFolders.Place?
  var drain: TimeAmount
  /// The level in the current plan; the user may have set another one since.
  var logLevel: LogLevel?
  let files: InterceptionFiles
  let fixed: [String: String]
  /// The members in the order of the plan.
  var running: [Running] = []
  /// The members that a reload has removed, while they finish.
  private var draining: [ObjectIdentifier: Task<Void, Never>] = [:]
  private var failure: (any Error)?
  var lastReload: (at: Int, result: ReloadResult)?
  let reloads = ReloadQueue<ReloadResult>()
  var stopping: Task<Void, Never>?

  /// Starts all members, or none.
  /// - Parameter name: The daemon's name in ``ControlFolders``, unless another daemon has it.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  package static func start(
    _ plan: DaemonPlan<Member>, from source: DaemonPlan<Member>.Source, named name: DaemonName,
    under manager: ServiceManager
  ) async throws -> Daemon {
    let daemon = try Daemon(plan, from: source, named: name, under: manager)
    do {
      let problems = await daemon.goOver(to: plan)
      if !problems.isEmpty { throw ConfigurationErrors(failures: problems) }
      try await daemon.startServers(plan.settings.observation)
    } catch {
      await daemon.stop(within: .zero)
      await daemon.finish()
      throw error
    }
    return daemon
  }

  private init(
    _ plan: DaemonPlan<Member>, from source: DaemonPlan<Member>.Source, named name: DaemonName,
    under manager: ServiceManager
  ) throws {
    self.name = name
    self.manager = manager
    self.source = source
    files = InterceptionFiles(source.transports)
    logger = DaemonLogHandler.logger("byway")
    fixed = plan.settings.observation.fixed
    drain = plan.settings.drain
    logLevel = plan.settings.logLevel
    observation = try DaemonObservation(plan.settings.observation, logger: logger)
  }

  private func startServers(_ settings: ObservationSettings) async throws {
    if let listen = settings.metrics {
      let server = try await LocalServer.start(
        on: listen, isForAnyone: settings.metricsAnywhere,
        advice: "allow any name with metrics-anywhere = yes", logger: Self.quiet
      ) { [unowned self] request in
        guard request.head.method == .get, request.head.path == "/metrics" else { return Response(status: .notFound) }
        return ControlServer.metrics(await self.metrics())
      }
      servers.append(server)
      metricsAddress = server.address
    }
    if let seen = observation.inspector, let listen = settings.inspector {
      let send: Resending.Send = { [weak self] request, listener in
        try await self?.send(request, at: listener) ?? Response(status: .serviceUnavailable)
      }
      let actions = InspectorActions(send: Member.sends ? send : nil, rules: observation.rules)
      let feed = InspectorFeed(seen, showsSecrets: settings.inspectSecrets, actions)
      inspector = try await InspectorService(feed, on: listen, logger: Self.quiet) { [weak self] in
        await self?.linkSnapshots() ?? []
      }
    }
    try await startControl()
  }

  private func send(_ request: Request, at listener: String) async throws -> Response {
    for entry in running {
      if let response = try await entry.member.send(request, at: listener) { return response }
    }
    throw BywayError(.refused, "Only a proxy sends requests again, and the proxy of this exchange no longer runs.")
  }

  private func linkSnapshots() async -> [LinkSnapshot] {
    await memberStatus().flatMap(\.links).flatMap { LinkSnapshot.all(of: $0) }
  }

  private func startControl() async throws {
    for candidate in name.candidates {
      if try await startControl(named: candidate) { return }
    }
    throw CommandFailure(.unavailable, "Too many daemons are called \(name.text): give this one a name: --instance.")
  }

  /// - Returns: `false` if another daemon has that name, and this one may have another.
  private func startControl(named candidate: String) async throws -> Bool {
    let place: ControlFolders.Place
    do throws(CommandFailure) {
      place = try ControlFolders.own(candidate)
    } catch {
      logger.warning(Self.noControl, metadata: ["reason": "\(error.message)"])
      return true
    }
    do {
      let control = ControlServer(self)
      servers.append(
        try await LocalServer.start(
          on: source.transports.link("unix:\(place.socket)?mode=0600"), logger: Self.quiet
        ) { try await control.respond(to: $0) })
      self.place = place
      if candidate != name.text {
        logger.notice("Another daemon is called \(name.text), so byway status shows this one as \(candidate).")
      }
    } catch {
      guard access(place.socket, F_OK) != 0 else {
        // In a folder of systemd's, each name has the same socket.
        if !name.isGiven, place.isMade { return false }
        throw CommandFailure(
          .unavailable,
          "\(error.asFailure.message) Where another is called \(candidate), too, give this one a name: --instance.")
      }
      logger.warning(Self.noControl, metadata: ["reason": "\(error.asFailure.message)"])
    }
    return true
  }

  private static var noControl: Logger.Message {
    "There is no control socket: byway status, reload and stop will not find this daemon"
  }

  /// A logger that does not record requests for a status.
  private static var quiet: Logger {
    var logger = DaemonLogHandler.logger("byway.control")
    logger.logLevel = .warning
    return logger
  }

  package var readyNotices: [ReadyNotice] {
    get async {
      var notices: [ReadyNotice] = []
      for entry in running {
        let name = entry.name.isEmpty ? Member.kind : "\(Member.kind) \(entry.name)"
        let readiness = await entry.member.readiness
        notices.append(
          ReadyNotice(words: "\(name) \(readiness.words)", facts: [(Member.kind, entry.name)] + readiness.facts))
      }
      if let metricsAddress {
        let url = "\(metricsAddress.clientURL)/metrics"
        notices.append(ReadyNotice(words: "metrics at \(url)", facts: [("metrics", url)]))
      }
      if let inspector {
        let place = inspector.place
        notices.append(
          ReadyNotice(
            words: "inspector at \(inspector.url)", facts: [("inspector", place)],
            publicWords: "inspector at \(place); byway status has the URL that may act"))
      }
      return notices
    }
  }

  package var statusLine: String {
    get async {
      let links = await memberStatus().flatMap(\.links)
      return tally.statusLine(linksUp: links.count { $0.state == .link(.up) }, of: links.count)
    }
  }

  package func waitUntilEnded() async throws {
    // Members that a reload adds are waited for as well.
    while let entry = running.first {
      do { try await entry.member.waitUntilEnded() } catch { failure = failure ?? error }
      remove(entry)
    }
    for task in draining.values { await task.value }
    await finish()
    if let failure { throw failure }
  }

  private func remove(_ entry: Running) {
    running.removeAll { $0.identity === entry.identity }
  }

  package func stop() async {
    await beginToStop().value
  }

  @discardableResult
  private func beginToStop() -> Task<Void, Never> {
    if let stopping { return stopping }
    manager.stopping(within: drain)
    let task = Task { await self.stop(within: self.drain) }
    stopping = task
    return task
  }

  private func stop(within patience: TimeAmount) async {
    await withTaskGroup(of: Void.self) { group in
      for entry in running { group.addTask { await entry.member.stop(within: Duration(patience)) } }
    }
  }

  /// Closes the rest when no more requests arrive.
  private func finish() async {
    for server in servers { await server.stop() }
    servers = []
    await inspector?.stop()
    if let place { ControlFolders.remove(place) }
    await files.release(except: [], within: .zero)
    await observation.finish()
  }

  package func reopenFiles() {
    observation.reopen()
    files.reopen()
  }

  /// Removes a member. It may finish its requests, and only the end of the daemon waits for that.
  func drainMember(_ entry: Running) {
    remove(entry)
    let key = ObjectIdentifier(entry.identity)
    draining[key] = Task { [drain] in
      await entry.member.stop(within: Duration(drain))
      draining[key] = nil
    }
  }
}

// MARK: Control requests

extension Daemon: Controllable {
  func status() async -> DaemonStatus {
    DaemonStatus(
      name: place?.name ?? name.text, kind: Member.kind, isStopping: stopping != nil, processID: Int(getpid()),
      since: start,
      configuration: source.file,
      reload: lastReload, members: await memberStatus(measures: true),
      plugins: await pluginStatus(), requests: DaemonStatus.Requests(tally),
      memoryBytes: ProcessFacts.residentBytes, held: DaemonStatus.Held(.shared),
      descriptors: ProcessFacts.openDescriptors, inspector: inspector?.url)
  }

  private func memberStatus(measures: Bool = false) async -> [DaemonStatus.Member] {
    var members: [DaemonStatus.Member] = []
    for entry in running {
      members.append(await entry.member.status(named: entry.name, measures: measures))
    }
    return members
  }

  private func pluginStatus() async -> [PluginStatus] {
    var plugins: [PluginStatus] = []
    for plugin in files.plugins { plugins.append(await plugin.status) }
    return plugins
  }

  func metrics() async -> [UInt8] {
    let members = await memberStatus()
    let links = members.flatMap(\.links)
    let places = links + members.flatMap(\.origins)
    return observation.metricsText(
      of: links.flatMap { DaemonObservation.LinkState.all(of: $0) },
      connections: Dictionary(places.map { ($0.name, $0.connections) }, uniquingKeysWith: +),
      plugins: await pluginStatus())
  }

  func requestStop() -> StopNotice {
    beginToStop()
    return StopNotice(of: Int(getpid()), within: drain)
  }
}
