import Byway
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

  private let source: DaemonPlan<Command>.Source
  private let logger: Logger
  private var drain: TimeAmount
  /// In the order of the plan.
  private var names: [String]
  private var running: [String: Running]
  /// Of those that have gone.
  private var ended: [Interception] = []
  private var failure: (any Error)?
  private var isReloading = false
  private var isStopping = false

  /// Starts all members, or none.
  /// - Throws: ``CommandFailure`` or ``BywayError``.
  static func start(_ plan: DaemonPlan<Command>, from source: DaemonPlan<Command>.Source) async throws -> Daemon {
    var running: [String: Running] = [:]
    do {
      for (name, member) in plan.members { running[name] = try await start(member) }
    } catch {
      for entry in running.values { await end(entry, within: .zero) }
      throw error
    }
    return Daemon(plan, from: source, running)
  }

  private init(
    _ plan: DaemonPlan<Command>, from source: DaemonPlan<Command>.Source, _ running: [String: Running]
  ) {
    self.source = source
    self.running = running
    names = plan.members.map(\.name)
    logger = plan.logger
    drain = plan.drain
  }

  var readyLines: [String] {
    names.compactMap { name in
      running[name].map { "byway: \(name.isEmpty ? Member.kind : "\(Member.kind) \(name)") \($0.member.readiness)" }
    }
  }

  func waitUntilEnded() async throws {
    // Those that a reload brings are waited for as well.
    while let (name, entry) = running.first {
      do { try await entry.member.waitUntilEnded() } catch { failure = failure ?? error }
      remove(entry, named: name)
    }
    for interception in ended { await interception.finish() }
    if let failure { throw failure }
  }

  /// Unless a reload did that, and perhaps has put another there.
  private func remove(_ entry: Running, named name: String) {
    guard running[name]?.identity === entry.identity else { return }
    if let entry = running.removeValue(forKey: name) { ended.append(entry.interception) }
  }

  var patience: TimeAmount { drain }

  func stop() async {
    isStopping = true
    await withTaskGroup(of: Void.self) { group in
      for entry in running.values { group.addTask { [drain] in await entry.member.stop(within: drain) } }
    }
  }

  // MARK: Reload

  /// Goes over to what the file says now. What is wrong is logged, and what is right before stays in force.
  func reload() async -> ReloadResult {
    guard !isReloading, !isStopping else { return .refused("It is \(isStopping ? "stopping" : "reloading already").") }
    isReloading = true
    defer { isReloading = false }
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
    for (name, member) in plan.members {
      do {
        if let entry = running[name] {
          running[name]?.interception = try await Self.goOver(entry, to: member, within: drain)
        } else {
          running[name] = try await Self.start(member)
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

  private static func goOver(
    _ entry: Running, to plan: DaemonPlan<Command>.Member, within patience: TimeAmount
  ) async throws -> Interception {
    let interception = try plan.options.interception(of: plan.configuration, keeping: entry.interception)
    try await entry.member.reload(plan.options.adding(interception, to: plan.configuration), within: patience)
    await entry.interception.finish()
    return interception
  }

  private static func start(_ plan: DaemonPlan<Command>.Member) async throws -> Running {
    let interception = try plan.options.interception(of: plan.configuration, keeping: nil)
    let member = try await Member.start(plan.options.adding(interception, to: plan.configuration))
    return Running(member: member, interception: interception)
  }

  private static func end(_ entry: Running, within patience: TimeAmount) async {
    await entry.member.stop(within: patience)
    await entry.interception.finish()
  }
}

extension DaemonPlan.Source {
  /// The command line has not changed, what it names may have.
  fileprivate func readAgain() throws -> DaemonPlan {
    try read(given: Command.parse(arguments))
  }
}
