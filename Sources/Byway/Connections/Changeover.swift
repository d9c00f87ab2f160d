package import NIOCore

/// The way of an ``Acceptor``, and of whoever serves with it, to other links and another configuration: everything is opened first,
/// and counts from ``commit(within:)`` on.
///
/// Several that change together may want each other's places. So each is made with what is free, then all
/// ``vacate(_:within:)`` what others want, and then each opens that with ``openRest()``. Afterwards exactly one of
/// ``commit(within:)`` and ``abandon()`` is called; neither can fail.
package actor Changeover {
  /// What goes with the links.
  package struct Rest: Sendable {
    /// Puts it in force, when all links are open and before anybody comes by a new one.
    package let commit: @Sendable () async -> Void
    /// Lets go of what was opened for it.
    package let abandon: @Sendable () async -> Void

    package init(
      commit: @escaping @Sendable () async -> Void = {}, abandon: @escaping @Sendable () async -> Void = {}
    ) {
      self.commit = commit
      self.abandon = abandon
    }
  }

  private let acceptor: Acceptor
  private let links: [Link]
  private let rest: Rest
  /// Keeps the whole from ending while its only listener is replaced.
  private let staysUp: EventLoopPromise<Void>
  /// By their places among the links.
  private let kept: [Int: Acceptor.Entrance]
  private let leaving: [Acceptor.Entrance]
  private var opened: [Int: Acceptor.Entrance] = [:]
  /// Of those that leave: they are closed already, because somebody needs their place.
  private var vacated: [Acceptor.Entrance] = []
  private var renewals: [@Sendable () -> Void] = []

  init(_ acceptor: Acceptor, to links: [Link], _ rest: Rest) {
    self.acceptor = acceptor
    self.links = links
    self.rest = rest
    staysUp = acceptor.stayingUp()
    var leaving = acceptor.state.withLock(\.entrances)
    var kept: [Int: Acceptor.Entrance] = [:]
    for (index, link) in links.enumerated() {
      guard let place = leaving.firstIndex(where: { $0.link.address == link.address }) else { continue }
      kept[index] = leaving.remove(at: place)
    }
    self.kept = kept
    self.leaving = leaving
  }

  deinit {
    staysUp.succeed()
  }

  /// Opens what is free, and reads anew the files of what stays.
  /// - Parameter held: places that others hold who change at the same time.
  func open(besides held: Set<String>) async throws {
    for entrance in kept.values { renewals.append(try await entrance.listener.reread()) }
    let taken = held.union(leaving.map(\.link.address.place))
    for index in links.indices where kept[index] == nil && !taken.contains(links[index].address.place) {
      opened[index] = try await acceptor.open(links[index])
    }
  }

  /// The places of links that cannot be opened before somebody has left them: a serial port at another rate, for example.
  package var wanted: Set<String> {
    Set(links.indices.filter { kept[$0] == nil && opened[$0] == nil }.map { links[$0].address.place })
  }

  /// Leaves those of these places that it will not need. Their connections have that time to end.
  package func vacate(_ places: Set<String>, within patience: TimeAmount) async {
    for entrance in leaving where places.contains(entrance.link.address.place) {
      guard !vacated.contains(where: { $0 === entrance }) else { continue }
      vacated.append(entrance)
      await acceptor.leave([entrance], by: .now() + patience)
    }
  }

  /// Opens what could not be opened before.
  /// - Throws: ``BywayError``
  package func openRest() async throws {
    for index in links.indices where kept[index] == nil && opened[index] == nil {
      opened[index] = try await acceptor.open(links[index])
    }
  }

  /// From now on the new links and the new configuration count. Who came by a link that stays notices nothing; who came by
  /// another may finish what is running, within that time, which is not waited for.
  package func commit(within patience: TimeAmount) async {
    for renew in renewals { renew() }
    let entrances = links.indices.compactMap { kept[$0] ?? opened[$0] }
    let isStopping = acceptor.state.withLock { state in
      if !state.isStopping { state.entrances = entrances }
      return state.isStopping
    }
    await rest.commit()
    let fresh = links.indices.compactMap { opened[$0] }
    for entrance in fresh { acceptor.accept(from: entrance) }
    acceptor.run()
    let gone = isStopping ? fresh : leaving.filter { entrance in !vacated.contains { $0 === entrance } }
    await acceptor.depart(from: gone, by: .now() + patience)
    staysUp.succeed()
  }

  /// The first half of ``abandon()``, where several exchange places: each gives back what it took before any opens again what
  /// it had.
  package func closeOpened() async {
    for entrance in opened.values { await entrance.listener.close() }
    opened = [:]
  }

  /// Everything is as it was before.
  package func abandon() async {
    await closeOpened()
    await acceptor.reopen(vacated)
    await rest.abandon()
    staysUp.succeed()
  }
}
