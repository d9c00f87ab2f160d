package import BywayLineLayer
package import Logging
package import NIOCore
import Synchronization

/// Accepts connections from its listeners, and owns each connection until it has ended.
///
/// Safe on any thread.
package final class Acceptor: Sendable {
  /// Starts a connection on a channel; called on the channel's event loop. The link has the bound address.
  package typealias Serve = @Sendable (any Channel, Link, Logger) throws -> any ServedConnection

  /// A listener, and the task that accepts its channels.
  final class Endpoint: Sendable {
    private enum Source {
      case listening(any Listener)
      case dialing(DialedLink)
    }

    /// The link that it was made for.
    let link: Link
    private let source: Source
    var bound: Link { link.bound(to: listener.address) }

    /// Opens the serving end: listens, unless the address says that it dials.
    init(_ link: Link, _ context: LinkContext) async throws {
      self.link = link
      source =
        switch link.opening ?? .listen {
        case .listen: .listening(try await link.transport.listen(on: link.address, context: context))
        case .dial: .dialing(.start(link, context))
        }
    }

    var listener: any Listener {
      switch source {
      case .listening(let listener): listener
      case .dialing(let dialed): dialed
      }
    }

    var state: ServedLinkState {
      switch source {
      case .listening(let listener): listener.unavailableReason.map { .unavailable(reason: $0) } ?? .listening
      case .dialing(let dialed): dialed.state
      }
    }

    /// Records why one of its connections has ended.
    func ended(_ farewell: Farewell) {
      if case .dialing(let dialed) = source { dialed.ended(farewell) }
    }
  }

  struct State {
    /// The listeners, in the order of the links.
    var endpoints: [Endpoint]
    var accepting: [ObjectIdentifier: Task<(any Error)?, Never>] = [:]
    var connections: [ObjectIdentifier: (box: ConnectionBox, endpoint: Endpoint)] = [:]
    var isStopping = false
    var run: Task<Void, any Error>?
  }

  let group: any EventLoopGroup
  private let limit: ConnectionLimit
  let logger: Logger
  private let serve: Serve
  let state: Mutex<State>

  /// The bound addresses, in the order of the links.
  package var addresses: [LinkAddress] { state.withLock { $0.endpoints.map(\.listener.address) } }

  /// The bound addresses, each with the state of its link.
  package var endpoints: [(address: LinkAddress, state: ServedLinkState)] {
    state.withLock(\.endpoints).map { ($0.listener.address, $0.state) }
  }

  /// Listens on every link.
  /// - Parameter limit: the limit of connections that have a descriptor.
  /// - Throws: ``BywayError`` if one of them cannot be listened on; the others are closed again.
  package static func start(
    on links: [Link], group: any EventLoopGroup, limit: ConnectionLimit, logger: Logger, serve: @escaping Serve
  ) async throws -> Acceptor {
    let acceptor = Acceptor(group: group, limit: limit, logger: logger, serve: serve)
    try await acceptor.prepare(links).complete(within: .zero)
    return acceptor
  }

  /// Creates an acceptor without listeners: ``prepare(_:besides:_:)`` opens its links.
  package init(group: any EventLoopGroup, limit: ConnectionLimit, logger: Logger, serve: @escaping Serve) {
    self.group = group
    self.limit = limit
    self.logger = logger
    self.serve = serve
    state = Mutex(State(endpoints: []))
    limit.onFull { [weak self] in self?.makeRoom() }
  }

  /// Returns when no listener gives more channels (`stdio:` gives one) and every connection has ended.
  /// - Throws: the failure of a listener, unless ``stop(within:)`` ended it.
  package func waitUntilEnded() async throws {
    try await state.withLock(\.run)?.value
  }

  /// Returns the open connections, each with its link.
  package func connections() async -> [ServedLink] {
    var links: [ServedLink] = []
    for (box, endpoint) in state.withLock({ Array($0.connections.values) }) {
      links.append(await box.link(at: endpoint.listener.address))
    }
    return links.sorted { $0.since < $1.since }
  }

  /// Returns the statistics of the lines under its connections.
  package func lineStatistics() async -> [LineStatistics] { await connections().compactMap(\.line) }

  /// Stops accepting, lets running requests finish within that time, then closes the remaining connections.
  package func stop(within patience: TimeAmount) async {
    let endpoints = state.withLock { state in
      state.isStopping = true
      return state.endpoints
    }
    let deadline = NIODeadline.now() + patience
    await drain(endpoints, by: deadline)
    // Connections of links that were removed before.
    await drain(state.withLock { $0.connections.values.map(\.box) }, by: deadline)
    try? await waitUntilEnded()
  }

  func drain(_ endpoints: [Endpoint], by deadline: NIODeadline) async {
    await withTaskGroup(of: Void.self) { group in
      for endpoint in endpoints { group.addTask { await self.drain(endpoint, by: deadline) } }
    }
  }

  /// Closes these listeners. Their connections may finish by the deadline, which is not waited for.
  func startDraining(_ endpoints: [Endpoint], by deadline: NIODeadline) async {
    for endpoint in endpoints { await close(endpoint) }
    // Ends by the deadline, and with the connections, which the acceptor waits for.
    for endpoint in endpoints { Task { await self.drain(self.connections(of: endpoint), by: deadline) } }
  }

  private func drain(_ endpoint: Endpoint, by deadline: NIODeadline) async {
    await close(endpoint)
    await drain(connections(of: endpoint), by: deadline)
  }

  private func close(_ endpoint: Endpoint) async {
    await endpoint.listener.close()
    // Connections that were accepted before are still served: their clients have connected successfully.
    _ = await state.withLock { $0.accepting[ObjectIdentifier(endpoint)] }?.value
  }

  private func connections(of endpoint: Endpoint) -> [ConnectionBox] {
    state.withLock { $0.connections.values.filter { $0.endpoint === endpoint }.map(\.box) }
  }

  private func drain(_ connections: [ConnectionBox], by deadline: NIODeadline) async {
    let cut = await withTaskGroup(of: Int.self) { group in
      for connection in connections { group.addTask { await connection.drain(by: deadline) } }
      return await group.reduce(0, +)
    }
    if cut > 0 { logger.warning("Stopped before every request had ended", metadata: ["requests": "\(cut)"]) }
  }

  func open(_ link: Link) async throws -> Endpoint {
    let context = LinkContext(group: group, logger: logger, deadline: .now() + .seconds(10), connections: limit)
    return try await Endpoint(link, context)
  }

  // MARK: Accepting

  /// Runs until all listeners and connections have ended, unless it runs already.
  func run() {
    guard state.withLock({ $0.run == nil }) else { return }
    let run = Task {
      var failure: (any Error)?
      // A new listener is added before the one that it replaces is removed.
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

  func accept(from endpoint: Endpoint) {
    let accepting = Task<(any Error)?, Never> {
      do {
        for try await channel in endpoint.listener.channels { self.take(channel, from: endpoint) }
        return nil
      } catch {
        self.logger.error(
          "Accepting connections has stopped",
          metadata: ["address": "\(endpoint.listener.address)", "reason": "\(error)"])
        return error
      }
    }
    state.withLock { $0.accepting[ObjectIdentifier(endpoint)] = accepting }
  }

  private func take(_ channel: any Channel, from endpoint: Endpoint) {
    let box = ConnectionBox(channel)
    let key = ObjectIdentifier(box)
    state.withLock { $0.connections[key] = (box, endpoint) }
    channel.closeFuture.whenComplete { _ in
      _ = self.state.withLock { $0.connections.removeValue(forKey: key) }
      if let farewell = box.farewell { endpoint.ended(farewell) }
    }
    channel.eventLoop.execute { self.start(box, from: endpoint) }
  }

  // MARK: Making room

  /// Closes connections that wait for requests, the longest waiting first. Leaves out very recent ones, whose request may have arrived
  /// unread.
  private func makeRoom() {
    // A connection over a line has no descriptor to free.
    let boxes = state.withLock { state in state.connections.values.map(\.box).filter { !($0.channel is StreamChannel) }
    }
    // The search costs as much as there are connections, so it closes several at once.
    let share = max(1, limit.maximum / 32)
    let shortest = limit.shortestIdleness
    for boxes in Dictionary(grouping: boxes, by: { ObjectIdentifier($0.channel.eventLoop) }).values {
      boxes.first?.channel.eventLoop.execute { Self.closeIdle(share, of: boxes, since: .now() - shortest) }
    }
  }

  /// Closes the longest idle connections. On the event loop of all of them.
  private static func closeIdle(_ count: Int, of boxes: [ConnectionBox], since latest: NIODeadline) {
    let idle = boxes.compactMap { box in box.idleSince.map { (since: $0, box) } }
    for (_, box) in idle.filter({ $0.since <= latest }).sorted(by: { $0.since < $1.since }).prefix(count) {
      box.closeIdle()
    }
  }

  private func start(_ box: ConnectionBox, from endpoint: Endpoint) {
    var logger = logger
    logger[metadataKey: "link"] = "\(endpoint.listener.address)"
    // A client that connects only to test reachability, and closes at once, leaves a channel without a pipeline.
    guard box.channel.isActive else {
      logger.debug("A client has gone before its connection began")
      return box.channel.close(promise: nil)
    }
    do {
      box.hold(try serve(box.channel, endpoint.bound, logger))
    } catch {
      logger.error("A connection cannot be served", metadata: ["reason": "\(error)"])
      box.channel.close(promise: nil)
    }
  }
}
