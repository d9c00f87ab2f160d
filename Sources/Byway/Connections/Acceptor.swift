package import LineLayer
package import Logging
package import NIOCore
import Synchronization

/// Accepts what comes to its listeners, and owns every connection until that has ended.
///
/// Safe on any thread.
package final class Acceptor: Sendable {
  /// Puts a connection on a channel; called on the channel's event loop. The link has the address as bound.
  package typealias Serve = @Sendable (any Channel, Link, Logger) throws -> any ServedConnection

  /// A listener, and the task that takes what comes to it.
  final class Entrance: Sendable {
    /// That it was made for.
    let link: Link
    let listener: any Listener
    var bound: Link {
      Link(address: listener.address, transport: link.transport, framing: link.framing, opening: link.opening)
    }

    init(_ link: Link, _ listener: any Listener) {
      self.link = link
      self.listener = listener
    }
  }

  struct State {
    /// In the order of the links.
    var entrances: [Entrance]
    var accepting: [ObjectIdentifier: Task<(any Error)?, Never>] = [:]
    var connections: [ObjectIdentifier: (box: ConnectionBox, entrance: Entrance)] = [:]
    var isStopping = false
    var run: Task<Void, any Error>?
  }

  let group: any EventLoopGroup
  private let limit: ConnectionLimit
  let logger: Logger
  private let serve: Serve
  let state: Mutex<State>

  /// As bound, in the order of the links.
  package var addresses: [LinkAddress] { state.withLock { $0.entrances.map(\.listener.address) } }

  /// The same, with why nobody can come there.
  package var entrances: [(address: LinkAddress, obstacle: String?)] {
    state.withLock(\.entrances).map { ($0.listener.address, $0.listener.obstacle) }
  }

  /// Listens on every link.
  /// - Parameter limit: of the connections that have a descriptor.
  /// - Throws: ``BywayError`` where one of them cannot be listened on; the others are closed again.
  package static func start(
    on links: [Link], group: any EventLoopGroup, limit: ConnectionLimit, logger: Logger, serve: @escaping Serve
  ) async throws -> Acceptor {
    let acceptor = Acceptor(group: group, limit: limit, logger: logger, serve: serve)
    try await acceptor.prepare(links).complete(within: .zero)
    return acceptor
  }

  /// One that listens nowhere yet: ``prepare(_:besides:_:)`` opens its links.
  package init(group: any EventLoopGroup, limit: ConnectionLimit, logger: Logger, serve: @escaping Serve) {
    self.group = group
    self.limit = limit
    self.logger = logger
    self.serve = serve
    state = Mutex(State(entrances: []))
    limit.onFull { [weak self] in self?.makeRoom() }
  }

  /// Returns when no listener gives channels any more, `stdio:` after its one, and every connection has ended.
  /// - Throws: why a listener cannot go on, where that was not by ``stop(within:)``.
  package func waitUntilEnded() async throws {
    try await state.withLock(\.run)?.value
  }

  /// What is open now, each with its link.
  package func connections() async -> [ServedLink] {
    var links: [ServedLink] = []
    for (box, entrance) in state.withLock({ Array($0.connections.values) }) {
      links.append(await box.link(at: entrance.listener.address))
    }
    return links.sorted { $0.since < $1.since }
  }

  /// What the lines do over which its connections go.
  package func lineStatistics() async -> [LineStatistics] { await connections().compactMap(\.line) }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left.
  package func stop(within patience: TimeAmount) async {
    let entrances = state.withLock { state in
      state.isStopping = true
      return state.entrances
    }
    let deadline = NIODeadline.now() + patience
    await leave(entrances, by: deadline)
    // Of links that were left before.
    await drain(state.withLock { $0.connections.values.map(\.box) }, by: deadline)
    try? await waitUntilEnded()
  }

  func leave(_ entrances: [Entrance], by deadline: NIODeadline) async {
    await withTaskGroup(of: Void.self) { group in
      for entrance in entrances { group.addTask { await self.leave(entrance, by: deadline) } }
    }
  }

  /// Nobody is let in there any more; who has come may finish, which takes its time.
  func depart(from entrances: [Entrance], by deadline: NIODeadline) async {
    for entrance in entrances { await close(entrance) }
    // Ends by the deadline, and with the connections, for which the end of the whole waits.
    for entrance in entrances { Task { await self.drain(self.connections(of: entrance), by: deadline) } }
  }

  private func leave(_ entrance: Entrance, by deadline: NIODeadline) async {
    await close(entrance)
    await drain(connections(of: entrance), by: deadline)
  }

  private func close(_ entrance: Entrance) async {
    await entrance.listener.close()
    // What was accepted before is taken: who has connected is not told that nobody is here.
    _ = await state.withLock { $0.accepting[ObjectIdentifier(entrance)] }?.value
  }

  private func connections(of entrance: Entrance) -> [ConnectionBox] {
    state.withLock { $0.connections.values.filter { $0.entrance === entrance }.map(\.box) }
  }

  private func drain(_ connections: [ConnectionBox], by deadline: NIODeadline) async {
    let cut = await withTaskGroup(of: Int.self) { group in
      for connection in connections { group.addTask { await connection.drain(by: deadline) } }
      return await group.reduce(0, +)
    }
    if cut > 0 { logger.warning("Stopped before every request had ended", metadata: ["requests": "\(cut)"]) }
  }

  func open(_ link: Link) async throws -> Entrance {
    let context = LinkContext(group: group, logger: logger, deadline: .now() + .seconds(10), connections: limit)
    return Entrance(link, try await link.accept(context))
  }

  // MARK: Accepting

  /// Where it does not yet.
  func run() {
    guard state.withLock({ $0.run == nil }) else { return }
    let run = Task {
      var failure: (any Error)?
      // Each listener is there before the one that it replaces has gone.
      while let (key, accepting) = self.state.withLock({ $0.accepting.first }) {
        let error = await accepting.value
        failure = failure ?? error
        _ = self.state.withLock { $0.accepting.removeValue(forKey: key) }
      }
      for connection in self.state.withLock({ $0.connections.values.map(\.box) }) { await connection.ended() }
      if let failure { throw failure }
    }
    state.withLock { $0.run = run }
  }

  func accept(from entrance: Entrance) {
    let accepting = Task<(any Error)?, Never> {
      do {
        for try await channel in entrance.listener.channels { self.take(channel, from: entrance) }
        return nil
      } catch {
        self.logger.error(
          "Accepting connections has stopped",
          metadata: ["address": "\(entrance.listener.address)", "reason": "\(error)"])
        return error
      }
    }
    state.withLock { $0.accepting[ObjectIdentifier(entrance)] = accepting }
  }

  private func take(_ channel: any Channel, from entrance: Entrance) {
    let box = ConnectionBox(channel)
    let key = ObjectIdentifier(box)
    state.withLock { $0.connections[key] = (box, entrance) }
    channel.closeFuture.whenComplete { _ in
      _ = self.state.withLock { $0.connections.removeValue(forKey: key) }
    }
    channel.eventLoop.execute { self.start(box, from: entrance) }
  }

  // MARK: Making room

  /// Closes connections that only wait for their clients, those that have waited longest first. One that has come just now
  /// is let be: its request may be there and not have been read yet.
  private func makeRoom() {
    // What goes over a line has no descriptor to give back.
    let boxes = state.withLock { state in state.connections.values.map(\.box).filter { !($0.channel is StreamChannel) }
    }
    // Looking costs as much as there are connections, so that it should pay.
    let share = max(1, limit.maximum / 32)
    for boxes in Dictionary(grouping: boxes, by: { ObjectIdentifier($0.channel.eventLoop) }).values {
      boxes.first?.channel.eventLoop.execute { Self.closeIdle(share, of: boxes) }
    }
  }

  private static let shortestIdleness = TimeAmount.seconds(1)

  /// On the event loop of all of them.
  private static func closeIdle(_ count: Int, of boxes: [ConnectionBox]) {
    let latest = NIODeadline.now() - shortestIdleness
    let idle = boxes.compactMap { box in box.idleSince.map { (since: $0, box) } }
    for (_, box) in idle.filter({ $0.since <= latest }).sorted(by: { $0.since < $1.since }).prefix(count) {
      box.giveUpPlace()
    }
  }

  private func start(_ box: ConnectionBox, from entrance: Entrance) {
    var logger = logger
    logger[metadataKey: "link"] = "\(entrance.listener.address)"
    // Who has connected and left at once, to see whether somebody is here, has no pipeline any more, and asks for nothing.
    guard box.channel.isActive else {
      logger.debug("A client has gone before its connection began")
      return box.channel.close(promise: nil)
    }
    do {
      box.hold(try serve(box.channel, entrance.bound, logger))
    } catch {
      logger.error("A connection cannot be served", metadata: ["reason": "\(error)"])
      box.channel.close(promise: nil)
    }
  }
}
