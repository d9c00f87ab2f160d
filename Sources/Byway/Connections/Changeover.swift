package import NIOCore

/// The switch of an ``Acceptor`` and its service to other links and another configuration. All links are opened first, and take effect with
/// ``commit(within:)``.
///
/// Acceptors that change together may need each other's addresses. So each is prepared with the free ones, then all ``drain(_:within:)``
/// what others want, and then each opens that with ``openRest()``. At the end exactly one of ``commit(within:)`` and ``cancel()`` is
/// called; neither can fail.
package actor Changeover {
  /// The other resources that change with the links.
  package struct Rest: Sendable {
    /// Puts them into effect, after all links are open and before a new link accepts connections.
    package let commit: @Sendable () async -> Void
    /// Releases what was opened for them.
    package let cancel: @Sendable () async -> Void

    package init(
      commit: @escaping @Sendable () async -> Void = {}, cancel: @escaping @Sendable () async -> Void = {}
    ) {
      self.commit = commit
      self.cancel = cancel
    }
  }

  private let acceptor: Acceptor
  private let links: [Link]
  private let rest: Rest
  /// Keeps the acceptor from ending while its only listener is replaced.
  private let staysUp: EventLoopPromise<Void>
  /// The listeners to keep, by the index of their link.
  private let kept: [Int: Acceptor.Endpoint]
  private let removed: [Acceptor.Endpoint]
  private var opened: [Int: Acceptor.Endpoint] = [:]
  /// Removed listeners that are closed already, because their address is needed.
  private var drained: [Acceptor.Endpoint] = []
  private var renewals: [@Sendable () -> Void] = []

  init(_ acceptor: Acceptor, to links: [Link], _ rest: Rest) {
    self.acceptor = acceptor
    self.links = links
    self.rest = rest
    staysUp = acceptor.stayingUp()
    var removed = acceptor.state.withLock(\.endpoints)
    var kept: [Int: Acceptor.Endpoint] = [:]
    for (index, link) in links.enumerated() {
      guard let place = removed.firstIndex(where: { $0.link.address == link.address }) else { continue }
      kept[index] = removed.remove(at: place)
    }
    self.kept = kept
    self.removed = removed
  }

  deinit {
    staysUp.succeed()
  }

  /// Opens the links whose addresses are free, and reads the files of the kept ones again.
  /// - Parameter held: addresses of other acceptors that change at the same time.
  func open(besides held: Set<String>) async throws {
    for endpoint in kept.values { renewals.append(try await endpoint.listener.reread()) }
    let taken = held.union(removed.map(\.link.address.place))
    for index in links.indices where kept[index] == nil && !taken.contains(links[index].address.place) {
      opened[index] = try await acceptor.open(links[index])
    }
  }

  /// The addresses of links that cannot be opened before another listener has left them: a serial port at another rate, for example.
  package var wanted: Set<String> {
    Set(links.indices.filter { kept[$0] == nil && opened[$0] == nil }.map { links[$0].address.place })
  }

  /// Drains the listeners at those of these addresses that it will not need. Their connections have that time to end.
  package func drain(_ places: Set<String>, within patience: TimeAmount) async {
    for endpoint in removed where places.contains(endpoint.link.address.place) {
      guard !drained.contains(where: { $0 === endpoint }) else { continue }
      drained.append(endpoint)
      await acceptor.drain([endpoint], by: .now() + patience)
    }
  }

  /// Opens what could not be opened before.
  /// - Throws: ``BywayError``
  package func openRest() async throws {
    for index in links.indices where kept[index] == nil && opened[index] == nil {
      opened[index] = try await acceptor.open(links[index])
    }
  }

  /// Puts the new links and the new configuration into effect. Connections on kept links are not affected. Those on other links may finish
  /// their exchanges within that time, which is not waited for.
  package func commit(within patience: TimeAmount) async {
    for renew in renewals { renew() }
    let endpoints = links.indices.compactMap { kept[$0] ?? opened[$0] }
    let isStopping = acceptor.state.withLock { state in
      if !state.isStopping { state.endpoints = endpoints }
      return state.isStopping
    }
    await rest.commit()
    let fresh = links.indices.compactMap { opened[$0] }
    for endpoint in fresh { acceptor.accept(from: endpoint) }
    acceptor.run()
    let gone = isStopping ? fresh : removed.filter { endpoint in !drained.contains { $0 === endpoint } }
    await acceptor.startDraining(gone, by: .now() + patience)
    staysUp.succeed()
  }

  /// Does the first half of ``cancel()``, for several acceptors that exchange addresses: each releases what it opened before any of them
  /// reopens its previous links.
  package func closeOpened() async {
    for endpoint in opened.values { await endpoint.listener.close() }
    opened = [:]
  }

  /// Restores the previous state.
  package func cancel() async {
    await closeOpened()
    await acceptor.reopen(drained)
    await rest.cancel()
    staysUp.succeed()
  }
}
