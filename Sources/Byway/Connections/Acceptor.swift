package import LineLayer
package import Logging
package import NIOCore
import Synchronization

/// Accepts what comes to its listeners, and owns every connection until that has ended.
///
/// Safe on any thread.
package final class Acceptor: Sendable {
  /// Puts a connection on a channel; called on the channel's event loop.
  package typealias Serve = @Sendable (any Channel, Link, Logger) throws -> any ServedConnection

  private struct State {
    var connections: [ObjectIdentifier: ConnectionBox] = [:]
    var isStopping = false
    var run: Task<Void, any Error>?
  }

  /// Each with the link that it was made for.
  private let listeners: [(link: Link, listener: any Listener)]
  private let limit: ConnectionLimit
  private let logger: Logger
  private let serve: Serve
  private let state = Mutex(State())

  /// As bound, in the order of the links.
  package var addresses: [LinkAddress] { listeners.map(\.listener.address) }

  /// Listens on every link.
  /// - Parameter limit: of the connections that have a descriptor.
  /// - Throws: ``BywayError`` where one of them cannot be listened on; the others are closed again.
  package static func start(
    on links: [Link], group: any EventLoopGroup, limit: ConnectionLimit, logger: Logger, serve: @escaping Serve
  ) async throws -> Acceptor {
    var listeners: [(link: Link, listener: any Listener)] = []
    do {
      for link in links {
        let context = LinkContext(
          group: group, logger: logger, deadline: .now() + .seconds(10), connections: limit)
        listeners.append((link, try await link.accept(context)))
      }
    } catch {
      for (_, listener) in listeners { await listener.close() }
      throw error
    }
    let acceptor = Acceptor(listeners, limit: limit, logger: logger, serve: serve)
    limit.onFull { [weak acceptor] in acceptor?.makeRoom() }
    acceptor.run()
    return acceptor
  }

  private init(
    _ listeners: [(link: Link, listener: any Listener)], limit: ConnectionLimit, logger: Logger,
    serve: @escaping Serve
  ) {
    self.listeners = listeners
    self.limit = limit
    self.logger = logger
    self.serve = serve
  }

  /// Returns when no listener gives channels any more, `stdio:` after its one, and every connection has ended.
  /// - Throws: why a listener cannot go on, where that was not by ``stop(within:)``.
  package func waitUntilEnded() async throws {
    try await state.withLock(\.run)?.value
  }

  /// What the lines do over which its connections go.
  package func lineStatistics() async -> [LineStatistics] {
    var lines: [LineStatistics] = []
    for connection in state.withLock({ Array($0.connections.values) }) {
      if let line = await connection.lineStatistics() { lines.append(line) }
    }
    return lines
  }

  /// Accepts nothing more, lets running requests finish within that time, then closes what is left.
  package func stop(within patience: TimeAmount) async {
    let deadline = NIODeadline.now() + patience
    let connections = state.withLock { state in
      state.isStopping = true
      return Array(state.connections.values)
    }
    for (_, listener) in listeners { await listener.close() }
    let cut = await withTaskGroup(of: Int.self) { group in
      for connection in connections { group.addTask { await connection.drain(by: deadline) } }
      return await group.reduce(0, +)
    }
    if cut > 0 { logger.warning("Stopped before every request had ended", metadata: ["requests": "\(cut)"]) }
    try? await waitUntilEnded()
  }

  // MARK: Accepting

  private func run() {
    let run = Task {
      let failures = await withTaskGroup(of: (any Error)?.self) { group in
        for (link, listener) in self.listeners { group.addTask { await self.accept(from: listener, of: link) } }
        return await group.reduce(into: [] as [any Error]) { failures, failure in
          if let failure { failures.append(failure) }
        }
      }
      for connection in self.state.withLock({ Array($0.connections.values) }) { await connection.ended() }
      if let failure = failures.first { throw failure }
    }
    state.withLock { $0.run = run }
  }

  private func accept(from listener: any Listener, of link: Link) async -> (any Error)? {
    do {
      for try await channel in listener.channels { take(channel, from: listener.address, of: link) }
      return nil
    } catch {
      logger.error(
        "Accepting connections has stopped", metadata: ["address": "\(listener.address)", "reason": "\(error)"])
      return error
    }
  }

  private func take(_ channel: any Channel, from address: LinkAddress, of link: Link) {
    let box = ConnectionBox(channel)
    let key = ObjectIdentifier(box)
    let isTaken = state.withLock { state in
      if !state.isStopping { state.connections[key] = box }
      return !state.isStopping
    }
    guard isTaken else {
      channel.close(promise: nil)
      return
    }
    channel.closeFuture.whenComplete { _ in
      _ = self.state.withLock { $0.connections.removeValue(forKey: key) }
    }
    channel.eventLoop.execute { self.start(box, from: address, of: link) }
  }

  // MARK: Making room

  /// Closes connections that only wait for their clients, those that have waited longest first. One that has come just now
  /// is let be: its request may be there and not have been read yet.
  private func makeRoom() {
    // What goes over a line has no descriptor to give back.
    let boxes = state.withLock { state in state.connections.values.filter { !($0.channel is StreamChannel) } }
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

  private func start(_ box: ConnectionBox, from address: LinkAddress, of link: Link) {
    var logger = logger
    logger[metadataKey: "link"] = "\(address)"
    do {
      box.hold(try serve(box.channel, link, logger))
    } catch {
      logger.error("A connection cannot be served", metadata: ["reason": "\(error)"])
      box.channel.close(promise: nil)
    }
  }
}
