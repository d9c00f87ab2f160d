import Byway
import BywayDaemonProcess
import BywayTerminal

/// The change from one plan to the next, which happens completely or not at all. All that the next plan needs is opened for all
/// members before any of it takes effect.
extension Daemon {
  /// The change of one member.
  private struct Step {
    /// `nil` if the member is new.
    let predecessor: Running?
    let successor: Running
    let changeover: Changeover
  }

  /// Changes to another plan.
  /// - Returns: The errors. If there are any, nothing has changed.
  func goOver(to plan: DaemonPlan<Member>) async -> [CommandFailure] {
    let before = running
    let predecessors = MemberMatch.predecessors(
      of: plan.parts.map { (name: $0.name, places: Member.places(of: $0.configuration)) },
      among: before.map { (name: $0.name, places: $0.places) })
    var steps: [Step] = []
    var problems: [CommandFailure] = []
    for (part, predecessor) in zip(plan.parts, predecessors) where stopping == nil {
      do {
        steps.append(try await prepare(part, after: predecessor.map { before[$0] }))
      } catch {
        problems.append(error.asFailure.at(Member.place(of: part.name)))
      }
    }
    let removed = before.indices.filter { !predecessors.contains($0) }.map { before[$0] }
    if problems.isEmpty {
      problems = await exchangePlaces(steps, removed)
    } else {
      for step in steps { await step.changeover.cancel() }
    }
    if problems.isEmpty {
      drain = plan.settings.drain
      // A level that the user has set meanwhile stays.
      if plan.settings.logLevel != logLevel { plan.settings.applyLogLevel() }
      plan.settings.applyLogFormat()
      logLevel = plan.settings.logLevel
      MemoryLimit.apply(plan.settings.memoryBudget)
      for step in steps { await commit(step) }
      let order = Dictionary(plan.parts.enumerated().map { ($1.name, $0) }) { first, _ in first }
      running.sort { order[$0.name] ?? 0 < order[$1.name] ?? 0 }
      for entry in removed {
        // The reload waits until its places are free, but not for its requests.
        await entry.member.prepareToLeave().commit(within: drain)
        drainMember(entry)
      }
    }
    await files.release(except: Set(running.flatMap(\.used)), within: Duration(drain))
    if stopping == nil { for plugin in files.plugins { await plugin.start() } }
    return problems
  }

  private func prepare(
    _ part: DaemonPlan<Member>.Part, after predecessor: Running?
  ) async throws -> Step {
    let interception = try await FileWork.run { [files] in
      try part.interception(files)
    }
    let configuration = part.configuration.adding(interception, observation, named: part.name, tally)
    let held = Set(running.flatMap(\.places))
    let member = try predecessor?.member ?? Member.make(configuration)
    let changeover =
      if predecessor == nil {
        try await member.open(besides: held)
      } else {
        try await member.prepare(configuration, besides: held)
      }
    let successor = Running(
      identity: predecessor?.identity ?? Running.Identity(), name: part.name, member: member, used: interception.used,
      places: Member.places(of: part.configuration), fixed: predecessor?.fixed ?? part.fixed)
    return Step(predecessor: predecessor, successor: successor, changeover: changeover)
  }

  /// Moves places between members: a member leaves a place that another one wants before that one opens it. Then opens everything
  /// that can fail.
  /// - Returns: The errors. If there are any, the previous state is restored.
  private func exchangePlaces(_ steps: [Step], _ removed: [Running]) async -> [CommandFailure] {
    var wanted: Set<String> = []
    for step in steps { wanted.formUnion(await step.changeover.wanted) }
    var changeovers = steps.map(\.changeover)
    for entry in removed where !wanted.isDisjoint(with: entry.places) {
      changeovers.append(entry.member.prepareToLeave())
    }
    for changeover in changeovers { await changeover.drain(wanted, within: drain) }
    var problems: [CommandFailure] = []
    for step in steps {
      do { try await step.changeover.openRest() } catch {
        problems.append(error.asFailure.at(Member.place(of: step.successor.name)))
      }
    }
    if problems.isEmpty, stopping == nil {
      do { try await FileWork.run { [files] in try files.begin() } } catch { problems.append(error.asFailure) }
    }
    if stopping != nil, problems.isEmpty { problems.append(CommandFailure(.unavailable, "It is stopping.")) }
    if !problems.isEmpty {
      // Members close the places that they have taken before the previous owners open them again.
      for changeover in changeovers { await changeover.closeOpened() }
      for changeover in changeovers { await changeover.cancel() }
    }
    return problems
  }

  private func commit(_ step: Step) async {
    await step.changeover.commit(within: drain)
    if let index = running.firstIndex(where: { $0.identity === step.successor.identity }) {
      running[index] = step.successor
    } else if step.predecessor == nil {
      // The daemon may have begun to stop meanwhile.
      if stopping == nil { running.append(step.successor) } else { await step.successor.member.stop(within: .zero) }
    }
  }
}
