package import NIOCore

extension Acceptor {
  /// Opens what these links need and is free. What listens already reads its files anew, so that a renewed certificate counts
  /// then. One call at a time.
  /// - Parameters:
  ///   - held: places that others hold who change at the same time: ``Changeover/wanted``.
  ///   - rest: whatever else goes with the links.
  /// - Throws: ``BywayError`` where a link cannot be listened on. Then everything is as it was before.
  package func prepare(
    _ links: [Link], besides held: Set<String> = [], _ rest: Changeover.Rest = Changeover.Rest()
  ) async throws -> Changeover {
    let changeover = Changeover(self, to: links, rest)
    do { try await changeover.open(besides: held) } catch {
      await changeover.abandon()
      throw error
    }
    return changeover
  }

  /// To leave places that others want.
  package func prepareToLeave() -> Changeover { Changeover(self, to: [], Changeover.Rest()) }

  /// - Returns: until it is completed, the whole does not end with its last listener.
  func stayingUp() -> EventLoopPromise<Void> {
    let promise = group.any().makePromise(of: Void.self)
    let waiting = Task<(any Error)?, Never> { [future = promise.futureResult] in
      try? await future.get()
      return nil
    }
    state.withLock { $0.accepting[ObjectIdentifier(promise.futureResult)] = waiting }
    return promise
  }

  /// Back to what listened before.
  func reopen(_ entrances: [Entrance]) async {
    for entrance in entrances {
      do {
        let again = try await open(entrance.link)
        let isStopping = state.withLock { state in
          state.entrances = state.entrances.map { $0 === entrance ? again : $0 }
          return state.isStopping
        }
        if isStopping { await again.listener.close() } else { accept(from: again) }
      } catch {
        logger.error(
          "A link is lost, because neither its old nor its new options can be used",
          metadata: ["link": "\(entrance.link.address)", "reason": "\(error)"])
      }
    }
  }
}

extension Changeover {
  /// Of one that changes alone: opens the rest too, and puts it in force.
  /// - Throws: ``BywayError`` where a link cannot be listened on. Then everything is as it was before.
  package func complete(within patience: TimeAmount) async throws {
    await vacate(wanted, within: patience)
    do { try await openRest() } catch {
      await abandon()
      throw error
    }
    await commit(within: patience)
  }
}
