import Byway
import BywayProxy
import Glibc
import Logging
import NIOCore

/// Gateways or proxies in one process, by their names, and the way from one plan to the next.
actor Daemon<Command: DaemonCommand>: Service {
  typealias Member = Command.Member

  private final class Identity: Sendable {}

  private struct Running {
    let identity = Identity()
    let member: Member
    var interception: Interception
  }

  private let name: String
  private let start = Int(Duration.sinceEpoch.components.seconds)
  private let source: DaemonPlan<Command>.Source
  private let manager: ServiceManager
  private let logger: Logger
  private let observation: DaemonObservation
  private let tally = RequestTally()
  private var servers: [LocalServer] = []
  private var place: ControlFolders.Place?
  private var drain: TimeAmount
  /// In the order of the plan.
  private var names: [String] = []
  private var running: [String: Running] = [:]
  /// Of those that have gone.
  private var ended: [Interception] = []
  private var failure: (any Error)?
  private var lastReload: (at: Int, result: ReloadResult)?
  private var isReloading = false
  private var stopping: Task<Void, Never>?

  /// Starts all members, or none.
  /// - Parameter name: by which ``ControlFolders`` knows it.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  static func start(
    _ plan: DaemonPlan<Command>, from source: DaemonPlan<Command>.Source, named name: String,
    under manager: ServiceManager
  ) async throws -> Daemon {
    let daemon = try Daemon(plan, from: source, named: name, under: manager)
    do {
      try await daemon.startMembers(plan)
      try await daemon.startServers(plan.daemon.observation)
    } catch {
      await daemon.stop(within: .zero)
      await daemon.finish()
      throw error
    }
    return daemon
  }

  private init(
    _ plan: DaemonPlan<Command>, from source: DaemonPlan<Command>.Source, named name: String,
    under manager: ServiceManager
  ) throws {
    self.name = name
    self.manager = manager
    self.source = source
    logger = plan.logger
    drain = plan.drain
    observation = try DaemonObservation(plan.daemon.observation, logger: plan.logger)
  }

  private func startMembers(_ plan: DaemonPlan<Command>) async throws {
    names = plan.members.map(\.name)
    for (name, member) in plan.members { running[name] = try await start(member) }
  }

  private func startServers(_ options: ObservationOptions) async throws {
    let transports = source.transports
    if let listen = try options.metricsLink(in: transports) {
      let server = try await LocalServer.start(
        on: listen, isForAnyone: options.metricsAnywhere, logger: Self.quiet
      ) { [unowned self] request in
        guard request.head.method == .get, request.head.path == "/metrics" else { return Response(status: .notFound) }
        return ControlServer.metrics(await self.metrics())
      }
      servers.append(server)
    }
    guard let place = try ControlFolders.own(name) else { return }
    let server: LocalServer
    do {
      let control = ControlServer(self)
      server = try await LocalServer.start(
        on: transports.link("unix:\(place.socket)?mode=0600"), logger: Self.quiet
      ) { try await control.respond(to: $0) }
    } catch {
      throw CommandFailure(
        .unavailable,
        "\(error.asFailure.message) Where another is called \(name), too, give this one a name: --instance.")
    }
    servers.append(server)
    self.place = place
  }

  /// Who asks for a status is not worth a line.
  private static var quiet: Logger {
    var logger = Logger(label: "byway.control", factory: { DaemonLogHandler(label: $0) })
    logger.logLevel = .warning
    return logger
  }

  var readyLines: [String] {
    names.compactMap { name in
      running[name].map { "byway: \(name.isEmpty ? Member.kind : "\(Member.kind) \(name)") \($0.member.readiness)" }
    }
  }

  var statusLine: String {
    get async {
      let links = await memberStatus().flatMap(\.links)
      let requests = tally.requests
      let count = requests.running + requests.done + requests.failed.values.reduce(0, +)
      return "\(links.filter { $0.state == .up }.count) of \(links.count) links up, \(count) requests, "
        + "\(requests.running) running"
    }
  }

  func waitUntilEnded() async throws {
    // Those that a reload brings are waited for as well.
    while let (name, entry) = running.first {
      do { try await entry.member.waitUntilEnded() } catch { failure = failure ?? error }
      remove(entry, named: name)
    }
    for interception in ended { await interception.finish() }
    await finish()
    if let failure { throw failure }
  }

  /// Unless a reload did that, and perhaps has put another there.
  private func remove(_ entry: Running, named name: String) {
    guard running[name]?.identity === entry.identity else { return }
    if let entry = running.removeValue(forKey: name) { ended.append(entry.interception) }
  }

  func stop() async {
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
      for entry in running.values { group.addTask { await entry.member.stop(within: patience) } }
    }
  }

  /// When no request comes any more.
  private func finish() async {
    for server in servers { await server.stop() }
    servers = []
    if let place { ControlFolders.leave(place) }
    await observation.finish()
  }

  func reopenFiles() {
    observation.reopen()
  }

  // MARK: Reload

  /// Goes over to what the file says now. What is wrong is logged, and what is right before stays in force.
  func reload() async -> ReloadResult {
    guard stopping == nil else { return .refused("It is stopping.") }
    guard !isReloading else { return .refused("It is reloading already.") }
    isReloading = true
    manager.reloading()
    let result = await reloadOnce()
    isReloading = false
    manager.ready(status: await statusLine)
    lastReload = (Int(Duration.sinceEpoch.components.seconds), result)
    return result
  }

  private func reloadOnce() async -> ReloadResult {
    let plan: DaemonPlan<Command>
    do {
      plan = try source.readAgain()
    } catch {
      let messages = (error as? ConfigurationErrors)?.failures.map(\.message) ?? [error.asFailure.message]
      for message in messages {
        logger.error("The configuration is wrong; the one before stays in force", metadata: ["reason": "\(message)"])
      }
      return .refused(messages.joined(separator: "\n"))
    }
    let problems = await goOver(to: plan)
    for problem in problems {
      logger.error("A part of the new configuration cannot be used", metadata: ["reason": "\(problem)"])
    }
    if problems.isEmpty { logger.notice("Reloaded") }
    return problems.isEmpty ? .done : .refused(problems.joined(separator: "\n"))
  }

  /// - Returns: what could not be done. Whom that concerns goes on as before.
  private func goOver(to plan: DaemonPlan<Command>) async -> [String] {
    var problems: [String] = []
    drain = plan.drain
    LogLevels.set(plan.daemon.logLevel ?? .info)
    let leaving = running.filter { name, _ in !plan.members.contains { $0.name == name } }
    for (name, member) in plan.members where stopping == nil {
      do {
        if let entry = running[name] {
          running[name]?.interception = try await goOver(entry, to: member)
        } else {
          let entry = try await start(member)
          // It may have been told to stop meanwhile.
          if stopping == nil { running[name] = entry } else { await Self.end(entry) }
        }
      } catch {
        problems.append((name.isEmpty ? "" : "[\(Member.kind) \(name)]: ") + error.asFailure.message)
      }
    }
    names = plan.members.map(\.name).filter { running[$0] != nil }
    await withTaskGroup(of: Void.self) { group in
      for entry in leaving.values { group.addTask { [drain] in await entry.member.stop(within: drain) } }
    }
    for (name, entry) in leaving { remove(entry, named: name) }
    return problems
  }

  private func goOver(_ entry: Running, to plan: DaemonPlan<Command>.Member) async throws -> Interception {
    let interception = try plan.options.interception(of: plan.configuration, keeping: entry.interception)
    try await entry.member.reload(configuration(of: plan, interception), within: drain)
    await entry.interception.finish()
    return interception
  }

  private func start(_ plan: DaemonPlan<Command>.Member) async throws -> Running {
    let interception = try plan.options.interception(of: plan.configuration, keeping: nil)
    return Running(member: try await Member.start(configuration(of: plan, interception)), interception: interception)
  }

  private static func end(_ entry: Running) async {
    await entry.member.stop(within: .zero)
    await entry.interception.finish()
  }

  private func configuration(
    of plan: DaemonPlan<Command>.Member, _ interception: Interception
  ) -> Member.Options.Configuration {
    plan.options.adding(interception, observation.observers + [tally], to: plan.configuration)
  }
}

// MARK: What it can be asked

extension Daemon: Controllable {
  func status() async -> DaemonStatus {
    DaemonStatus(
      name: name, kind: Member.kind, processID: Int(getpid()), since: start, configuration: source.file,
      reload: lastReload, members: await memberStatus(measures: true), requests: tally.requests,
      memoryBytes: ProcessFacts.residentBytes, descriptors: ProcessFacts.openDescriptors)
  }

  private func memberStatus(measures: Bool = false) async -> [DaemonStatus.Member] {
    var members: [DaemonStatus.Member] = []
    for name in names {
      if let entry = running[name] { members.append(await entry.member.status(named: name, measures: measures)) }
    }
    return members
  }

  func metrics() async -> [UInt8] {
    let links = await memberStatus().flatMap(\.links).map { road in
      DaemonObservation.LinkState(name: road.name, isUp: road.state == .up, line: road.line, counts: road.counts)
    }
    return observation.metricsText(of: links)
  }

  func requestStop() {
    beginToStop()
  }
}

extension DaemonPlan.Source {
  /// The command line has not changed, what it names may have.
  fileprivate func readAgain() throws -> DaemonPlan {
    try read(given: Command.parse(arguments))
  }
}
