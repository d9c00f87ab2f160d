import Byway
import BywayProxy
import Glibc
import Logging
import NIOCore
import Primitives

/// Gateways or proxies in one process, by their names, and the way from one plan to the next.
actor Daemon<Command: DaemonCommand>: Service {
  typealias Member = Command.Member

  private final class Identity: Sendable {}

  private struct Running {
    let identity = Identity()
    var name: String
    let member: Member
    var used: Set<InterceptionFiles.Key>
    /// ``DaemonMember/places(of:)``
    var places: [String]
    /// ``MemberOptions/fixed``, as it was when it started.
    let fixed: [String: String]
  }

  private let name: String
  private let start = WallTime.now().seconds
  private let source: DaemonPlan<Command>.Source
  private let manager: ServiceManager
  private let logger: Logger
  private let observation: DaemonObservation
  private let tally = ExchangeTally()
  private var servers: [LocalServer] = []
  private var place: ControlFolders.Place?
  private var drain: TimeAmount
  private let files = InterceptionFiles()
  private let fixed: [String: String]
  /// In the order of the plan.
  private var running: [Running] = []
  /// Those that a reload has left without a place: what they still have to do.
  private var departing: [ObjectIdentifier: Task<Void, Never>] = [:]
  private var failure: (any Error)?
  private var lastReload: (at: Int, result: ReloadResult)?
  /// The reload that runs, and the one that begins after it: whoever asks meanwhile is served by that.
  private var reloading: Task<ReloadResult, Never>?
  private var nextReload: Task<ReloadResult, Never>?
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
    logger = DaemonLogHandler.logger("byway")
    fixed = plan.daemon.observation.fixed
    drain = plan.drain
    observation = try DaemonObservation(plan.daemon.observation, logger: logger)
  }

  private func startMembers(_ plan: DaemonPlan<Command>) async throws {
    for (name, member) in plan.members { running.append(try await start(member, named: name)) }
    try files.begin()
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
    try await startControl()
  }

  private func startControl() async throws {
    let place: ControlFolders.Place
    do throws(CommandFailure) {
      guard let own = try ControlFolders.own(name) else { return }
      place = own
    } catch {
      return logger.warning("There is no control socket", metadata: ["reason": "\(error.message)"])
    }
    do {
      let control = ControlServer(self)
      servers.append(
        try await LocalServer.start(
          on: source.transports.link("unix:\(place.socket)?mode=0600"), logger: Self.quiet
        ) { try await control.respond(to: $0) })
      self.place = place
    } catch {
      guard access(place.socket, F_OK) != 0 else {
        throw CommandFailure(
          .unavailable,
          "\(error.asFailure.message) Where another is called \(name), too, give this one a name: --instance.")
      }
      logger.warning("There is no control socket", metadata: ["reason": "\(error.asFailure.message)"])
    }
  }

  /// Who asks for a status is not worth a line.
  private static var quiet: Logger {
    var logger = DaemonLogHandler.logger("byway.control")
    logger.logLevel = .warning
    return logger
  }

  var readyLines: [String] {
    get async {
      var lines: [String] = []
      for entry in running {
        let name = entry.name.isEmpty ? Member.kind : "\(Member.kind) \(entry.name)"
        lines.append("byway: \(name) \(await entry.member.readiness)")
      }
      return lines
    }
  }

  var statusLine: String {
    get async {
      let links = await memberStatus().flatMap(\.links)
      let requests = DaemonStatus.Requests(tally)
      let count = requests.running + requests.done + requests.failed.values.reduce(0, +)
      return "\(links.filter { $0.state == .up }.count) of \(links.count) links up, \(count) requests, "
        + "\(requests.running) running"
    }
  }

  func waitUntilEnded() async throws {
    // Those that a reload brings are waited for as well.
    while let entry = running.first {
      do { try await entry.member.waitUntilEnded() } catch { failure = failure ?? error }
      remove(entry)
    }
    for task in departing.values { await task.value }
    await finish()
    if let failure { throw failure }
  }

  private func remove(_ entry: Running) {
    running.removeAll { $0.identity === entry.identity }
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
      for entry in running { group.addTask { await entry.member.stop(within: patience) } }
    }
  }

  /// When no request comes any more.
  private func finish() async {
    for server in servers { await server.stop() }
    servers = []
    if let place { ControlFolders.leave(place) }
    await files.release(except: [])
    await observation.finish()
  }

  func reopenFiles() {
    observation.reopen()
  }

  // MARK: Reload

  /// Goes over to what the file says now. What is wrong is logged, and what is right before stays in force.
  func reload() async -> ReloadResult {
    if let nextReload { return await nextReload.value }
    let before = reloading
    let task = Task {
      if let before {
        _ = await before.value
        reloading = nextReload
        nextReload = nil
      }
      return await reloadNow()
    }
    if before == nil { reloading = task } else { nextReload = task }
    return await task.value
  }

  private func reloadNow() async -> ReloadResult {
    defer { reloading = nil }
    guard stopping == nil else { return .refused("It is stopping.") }
    manager.reloading()
    let result = await reloadOnce()
    manager.ready(status: await statusLine)
    lastReload = (WallTime.now().seconds, result)
    return result
  }

  private func reloadOnce() async -> ReloadResult {
    let plan: DaemonPlan<Command>
    do {
      plan = try await Self.read(source)
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
    guard problems.isEmpty else { return .refused(problems.joined(separator: "\n")) }
    let waiting = restartOnly(plan)
    logger.notice(
      "Reloaded", metadata: waiting.isEmpty ? [:] : ["at the next start": "\(waiting.joined(separator: ", "))"])
    return .done
  }

  /// Away from the actor: a file may be long, and who asks for the status or wants to stop does not wait for that.
  @concurrent private static func read(_ source: DaemonPlan<Command>.Source) async throws -> DaemonPlan<Command> {
    try source.read()
  }

  /// Options that have changed and count at the next start only.
  private func restartOnly(_ plan: DaemonPlan<Command>) -> [String] {
    func changed(_ before: [String: String], _ after: [String: String]) -> [String] {
      before.filter { after[$0.key] != $0.value }.map(\.key)
    }
    let members = plan.members.flatMap { name, member in
      running.first { $0.name == name }.map { changed($0.fixed, member.options.fixed) } ?? []
    }
    return Set(members + changed(fixed, plan.daemon.observation.fixed)).sorted()
  }

  /// - Returns: what could not be done. Whom that concerns goes on as before, and nobody is taken away then.
  private func goOver(to plan: DaemonPlan<Command>) async -> [String] {
    var problems: [String] = []
    let before = running
    let pairs = Self.pairs(plan.members.map { ($0.name, Member.places(of: $0.member.configuration)) }, before)
    for (index, (name, member)) in plan.members.enumerated() where stopping == nil {
      do {
        if let entry = pairs[index] {
          try await goOver(entry, to: member, named: name)
        } else {
          try await add(member, named: name)
        }
      } catch {
        problems.append(Command.place(of: name) + error.asFailure.message)
      }
    }
    guard problems.isEmpty, stopping == nil else {
      await releaseFiles()
      return problems
    }
    drain = plan.drain
    plan.daemon.applyToLog()
    let order = Dictionary(plan.members.enumerated().map { ($1.name, $0) }) { first, _ in first }
    running.sort { order[$0.name] ?? 0 < order[$1.name] ?? 0 }
    for entry in before where !pairs.contains(where: { $0?.identity === entry.identity }) { leave(entry) }
    await releaseFiles()
    do { try files.begin() } catch { problems.append(error.asFailure.message) }
    return problems
  }

  /// Of those that nobody uses: what a plan has left, or one that was refused has opened.
  private func releaseFiles() async {
    await files.release(except: Set(running.flatMap(\.used)))
  }

  /// Which of those that run becomes which of the plan: the one of its name, if that listens there as well; else one that
  /// listens there, so that a section can be renamed and places be swapped; else the one of its name.
  private static func pairs(_ plan: [(name: String, places: [String])], _ running: [Running]) -> [Running?] {
    var left = running
    var pairs = [Running?](repeating: nil, count: plan.count)
    func pair(where fits: (Running, String, [String]) -> Bool) {
      for (index, (name, places)) in plan.enumerated() where pairs[index] == nil {
        guard let found = left.firstIndex(where: { fits($0, name, places) }) else { continue }
        pairs[index] = left.remove(at: found)
      }
    }
    func isThere(_ entry: Running, _ places: [String]) -> Bool { !Set(entry.places).isDisjoint(with: places) }
    pair { entry, name, places in entry.name == name && isThere(entry, places) }
    pair { entry, _, places in isThere(entry, places) }
    pair { entry, name, _ in entry.name == name }
    return pairs
  }

  private func goOver(_ entry: Running, to plan: DaemonPlan<Command>.Member, named name: String) async throws {
    let interception = try plan.options.interception(of: plan.configuration, with: files)
    try await entry.member.reload(configuration(of: plan, interception), within: drain)
    guard let index = running.firstIndex(where: { $0.identity === entry.identity }) else { return }
    running[index].name = name
    running[index].used = interception.used
    running[index].places = Member.places(of: plan.configuration)
  }

  private func add(_ plan: DaemonPlan<Command>.Member, named name: String) async throws {
    let entry = try await start(plan, named: name)
    // It may have been told to stop meanwhile.
    if stopping == nil { running.append(entry) } else { await entry.member.stop(within: .zero) }
  }

  private func start(_ plan: DaemonPlan<Command>.Member, named name: String) async throws -> Running {
    let interception = try plan.options.interception(of: plan.configuration, with: files)
    return Running(
      name: name, member: try await Member.start(configuration(of: plan, interception)), used: interception.used,
      places: Member.places(of: plan.configuration), fixed: plan.options.fixed)
  }

  /// What still runs there may end, and nobody waits for that but the end of the daemon.
  private func leave(_ entry: Running) {
    remove(entry)
    let key = ObjectIdentifier(entry.identity)
    departing[key] = Task { [drain] in
      await entry.member.stop(within: drain)
      departing[key] = nil
    }
  }

  private func configuration(
    of plan: DaemonPlan<Command>.Member, _ interception: Interception
  ) -> Member.Options.Configuration {
    plan.configuration.adding(interception, observation.observers, tally)
  }
}

// MARK: What it can be asked

extension Daemon: Controllable {
  func status() async -> DaemonStatus {
    DaemonStatus(
      name: name, kind: Member.kind, processID: Int(getpid()), since: start, configuration: source.file,
      reload: lastReload, members: await memberStatus(measures: true), requests: DaemonStatus.Requests(tally),
      memoryBytes: ProcessFacts.residentBytes, descriptors: ProcessFacts.openDescriptors)
  }

  private func memberStatus(measures: Bool = false) async -> [DaemonStatus.Member] {
    var members: [DaemonStatus.Member] = []
    for entry in running {
      members.append(await entry.member.status(named: entry.name, measures: measures))
    }
    return members
  }

  func metrics() async -> [UInt8] {
    let members = await memberStatus()
    let links = members.flatMap(\.links)
    let places = links + members.flatMap(\.origins)
    return observation.metricsText(
      of: links.flatMap { DaemonObservation.LinkState.all(of: $0) },
      connections: Dictionary(places.map { ($0.name, $0.connections) }, uniquingKeysWith: +))
  }

  func requestStop() {
    beginToStop()
  }
}
