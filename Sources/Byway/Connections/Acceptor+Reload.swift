package import NIOCore

extension Acceptor {
  /// Listens on these links from now on. Who came by a link that stays notices nothing; who came by another may finish what
  /// is running, within that time, which is not waited for. One call at a time.
  ///
  /// What listens already is asked to read its files anew, so that a renewed certificate counts.
  /// - Parameter goOver: changes whatever else goes with the links, when all of them are open.
  /// - Throws: ``BywayError`` where a link cannot be listened on, or what `goOver` throws. Then everything is as it was before.
  package func reload(
    _ links: [Link], within patience: TimeAmount, goOver: () async throws -> Void
  ) async throws {
    let reloaded = staysUp()
    defer { reloaded.succeed() }
    var leaving = state.withLock(\.entrances)
    var kept: [Int: Entrance] = [:]
    for (index, link) in links.enumerated() {
      guard let place = leaving.firstIndex(where: { $0.link.address == link.address }) else { continue }
      kept[index] = leaving.remove(at: place)
    }
    for entrance in kept.values { try await entrance.listener.reload() }

    // The same place with other options, a serial port at another rate, can be opened only when it has been let go of.
    let fresh = links.indices.filter { kept[$0] == nil }
    let occupied = fresh.filter { index in leaving.contains { $0.link.address.place == links[index].address.place } }
    var made: [Int: Entrance] = [:]
    var vacated: [Entrance] = []
    do {
      for index in fresh where !occupied.contains(index) { made[index] = try await open(links[index]) }
      for index in occupied {
        for entrance in leaving where entrance.link.address.place == links[index].address.place {
          await leave([entrance], by: .now() + patience)
          vacated.append(entrance)
        }
        made[index] = try await open(links[index])
      }
      try await goOver()
    } catch {
      for entrance in made.values { await entrance.listener.close() }
      await reopen(vacated)
      throw error
    }
    let entrances = links.indices.compactMap { kept[$0] ?? made[$0] }
    for entrance in made.values { accept(from: entrance) }
    let isStopping = state.withLock { state in
      if !state.isStopping { state.entrances = entrances }
      return state.isStopping
    }
    if isStopping { leaving = Array(made.values) }
    await depart(from: leaving.filter { entrance in !vacated.contains { $0 === entrance } }, by: .now() + patience)
  }

  /// Keeps the whole from ending while its only listener is replaced.
  /// - Returns: to be completed when that is over.
  private func staysUp() -> EventLoopPromise<Void> {
    let promise = group.any().makePromise(of: Void.self)
    let waiting = Task<(any Error)?, Never> {
      try? await promise.futureResult.get()
      return nil
    }
    state.withLock { $0.accepting[ObjectIdentifier(promise.futureResult)] = waiting }
    return promise
  }

  /// Back to what listened before.
  private func reopen(_ entrances: [Entrance]) async {
    for entrance in entrances {
      do {
        let again = try await open(entrance.link)
        state.withLock { state in
          state.entrances = state.entrances.map { $0 === entrance ? again : $0 }
        }
        accept(from: again)
      } catch {
        logger.error(
          "A link is lost, because neither its old nor its new options can be used",
          metadata: ["link": "\(entrance.link.address)", "reason": "\(error)"])
      }
    }
  }
}
