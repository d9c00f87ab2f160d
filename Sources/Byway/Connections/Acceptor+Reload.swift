package import NIOCore

extension Acceptor {
  /// Prepares a change to these links: opens those that are needed and whose addresses are free. Links that listen already read their files
  /// again, so that a renewed certificate takes effect. One call at a time.
  /// - Parameters:
  ///   - held: addresses of other acceptors that change at the same time: ``Changeover/wanted``.
  ///   - rest: other resources that change with the links.
  /// - Throws: ``BywayError`` where a link cannot be listened on. Then everything is as before.
  package func prepare(
    _ links: [Link], besides held: Set<String> = [], _ rest: Changeover.Rest = Changeover.Rest()
  ) async throws -> Changeover {
    let changeover = Changeover(self, to: links, rest)
    do { try await changeover.open(besides: held) } catch {
      await changeover.cancel()
      throw error
    }
    return changeover
  }

  /// Prepares to release addresses that others want.
  package func prepareToLeave() -> Changeover { Changeover(self, to: [], Changeover.Rest()) }

  /// Keeps the acceptor running without listeners.
  /// - Returns: a promise. Until it is completed, the acceptor does not end with its last listener.
  func stayingUp() -> EventLoopPromise<Void> {
    let promise = group.any().makePromise(of: Void.self)
    let waiting = Task<(any Error)?, Never> { [future = promise.futureResult] in
      try? await future.get()
      return nil
    }
    state.withLock { $0.accepting[ObjectIdentifier(promise.futureResult)] = waiting }
    return promise
  }

  /// Restores the previous listeners.
  func reopen(_ endpoints: [Endpoint]) async {
    for endpoint in endpoints {
      do {
        let again = try await open(endpoint.link)
        let isStopping = state.withLock { state in
          state.endpoints = state.endpoints.map { $0 === endpoint ? again : $0 }
          return state.isStopping
        }
        if isStopping { await again.listener.close() } else { accept(from: again) }
      } catch {
        logger.error(
          "A link is lost, because neither its old nor its new options can be used",
          metadata: ["link": "\(endpoint.link.address)", "reason": "\(error)"])
      }
    }
  }
}

extension Changeover {
  /// Completes the change of a single acceptor: opens the rest too, and puts it into effect.
  /// - Throws: ``BywayError`` where a link cannot be listened on. Then everything is as before.
  package func complete(within patience: TimeAmount) async throws {
    await drain(wanted, within: patience)
    do { try await openRest() } catch {
      await cancel()
      throw error
    }
    await commit(within: patience)
  }
}
