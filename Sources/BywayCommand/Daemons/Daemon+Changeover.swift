import Byway

/// From one plan to the next, all of it or nothing: what the next one needs is opened for all members before anything of it counts.
extension Daemon {
  /// A member as it will be.
  private struct Step {
    /// `nil`: it is new.
    let predecessor: Running?
    let successor: Running
    let changeover: Changeover
  }

  /// - Returns: what could not be done. Nothing has changed then.
  func goOver(to plan: DaemonPlan<Command>) async -> [CommandFailure] {
    let before = running
    let predecessors = MemberMatch.predecessors(
      of: plan.members.map { (name: $0.name, places: Member.places(of: $0.member.configuration)) },
      among: before.map { (name: $0.name, places: $0.places) })
    var steps: [Step] = []
    var problems: [CommandFailure] = []
    for ((name, member), predecessor) in zip(plan.members, predecessors) where stopping == nil {
      do {
        steps.append(try await prepare(member, named: name, after: predecessor.map { before[$0] }))
      } catch {
        problems.append(error.asFailure.at(Command.place(of: name)))
      }
    }
    let leaving = before.indices.filter { !predecessors.contains($0) }.map { before[$0] }
    if problems.isEmpty {
      problems = await exchangePlaces(steps, leaving)
    } else {
      for step in steps { await step.changeover.abandon() }
    }
    if problems.isEmpty {
      drain = plan.drain
      if plan.daemon.logLevel != logLevel { plan.daemon.applyToLog() }
      logLevel = plan.daemon.logLevel
      MemoryLimit.apply(plan.daemon.memoryBudget)
      for step in steps { await commit(step) }
      let order = Dictionary(plan.members.enumerated().map { ($1.name, $0) }) { first, _ in first }
      running.sort { order[$0.name] ?? 0 < order[$1.name] ?? 0 }
      for entry in leaving {
        // Its places are left when the reload is over, which its requests need not be.
        await entry.member.prepareToLeave().commit(within: drain)
        leave(entry)
      }
    }
    await files.release(except: Set(running.flatMap(\.used)))
    return problems
  }

  private func prepare(
    _ plan: DaemonPlan<Command>.Member, named name: String, after predecessor: Running?
  ) async throws -> Step {
    let interception = try await FileWork.run { [files] in
      try plan.options.interception(of: plan.configuration, with: files)
    }
    let configuration = plan.configuration.adding(interception, observation, tally)
    let held = Set(running.flatMap(\.places))
    let member = try predecessor?.member ?? Member.make(configuration)
    let changeover =
      if predecessor == nil {
        try await member.open(besides: held)
      } else {
        try await member.prepare(configuration, besides: held)
      }
    let successor = Running(
      identity: predecessor?.identity ?? Running.Identity(), name: name, member: member, used: interception.used,
      places: Member.places(of: plan.configuration), fixed: predecessor?.fixed ?? plan.options.fixed)
    return Step(predecessor: predecessor, successor: successor, changeover: changeover)
  }

  /// What one wants that another holds is left by that one first. Then all is open that can fail.
  /// - Returns: what cannot be opened. Everything is as it was before then.
  private func exchangePlaces(_ steps: [Step], _ leaving: [Running]) async -> [CommandFailure] {
    var wanted: Set<String> = []
    for step in steps { wanted.formUnion(await step.changeover.wanted) }
    var changeovers = steps.map(\.changeover)
    for entry in leaving where !wanted.isDisjoint(with: entry.places) {
      changeovers.append(entry.member.prepareToLeave())
    }
    for changeover in changeovers { await changeover.vacate(wanted, within: drain) }
    var problems: [CommandFailure] = []
    for step in steps {
      do { try await step.changeover.openRest() } catch {
        problems.append(error.asFailure.at(Command.place(of: step.successor.name)))
      }
    }
    if problems.isEmpty, stopping == nil {
      do { try await FileWork.run { [files] in try files.begin() } } catch { problems.append(error.asFailure) }
    }
    if stopping != nil, problems.isEmpty { problems.append(CommandFailure(.unavailable, "It is stopping.")) }
    if !problems.isEmpty {
      // Whoever has taken a place gives it back before the other opens it again.
      for changeover in changeovers { await changeover.closeOpened() }
      for changeover in changeovers { await changeover.abandon() }
    }
    return problems
  }

  private func commit(_ step: Step) async {
    await step.changeover.commit(within: drain)
    if let index = running.firstIndex(where: { $0.identity === step.successor.identity }) {
      running[index] = step.successor
    } else if step.predecessor == nil {
      // It may have been told to stop meanwhile.
      if stopping == nil { running.append(step.successor) } else { await step.successor.member.stop(within: .zero) }
    }
  }
}
