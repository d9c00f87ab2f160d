import Byway
import NIOCore

/// A connection to a broker, as seen from the event loop of its owner.
final class BrokerConnection: @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.
  private enum Phase {
    case new
    case connecting(EventLoopPromise<Void>)
    case open
    case ended
  }

  let eventLoop: any EventLoop
  /// The most bytes of a message that the broker takes.
  private(set) var messageLimit = BrokerSettings.messageLimit
  private(set) var client: (any BrokerClient)?
  private let access: BrokerAccess
  private var phase = Phase.new
  private var received: ((BrokerMessage) -> Void)?
  private var ended: ((BrokerEnd) -> Void)?

  /// - Parameters:
  ///   - received: called for each message.
  ///   - ended: called once after an open connection has ended, unless this end has closed it.
  init(
    on eventLoop: any EventLoop, over access: BrokerAccess = .library, received: @escaping (BrokerMessage) -> Void,
    ended: @escaping (BrokerEnd) -> Void
  ) {
    self.eventLoop = eventLoop
    self.access = access
    self.received = received
    self.ended = ended
  }

  var isOpen: Bool { if case .open = phase { true } else { false } }

  /// Connects, and logs in.
  /// - Returns: fails with an `IOError` or the like if nothing listens, otherwise with a ``BrokerEnd``.
  func open(_ settings: BrokerSettings, by deadline: NIODeadline) -> EventLoopFuture<Void> {
    let opened = eventLoop.makePromise(of: Void.self)
    phase = .connecting(opened)
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.finish(.silent) }
    opened.futureResult.whenComplete { _ in timeout.cancel() }
    access.reach(settings, eventLoop, max(deadline - eventLoop.now, .milliseconds(1)))
      .assumeIsolated().whenComplete { result in
        guard case .connecting = self.phase else { return }
        do {
          try result.get()
          self.client = try self.start(settings)
        } catch {
          self.close(with: error)
        }
      }
    return opened.futureResult
  }

  private func start(_ settings: BrokerSettings) throws -> any BrokerClient {
    let (eventLoop, connection) = (eventLoop, self)
    return try access.start(
      settings,
      BrokerThread.Handlers(
        opened: { limit in eventLoop.execute { connection.didOpen(limit) } },
        received: { message in eventLoop.execute { connection.didReceive(message) } },
        ended: { end in eventLoop.execute { connection.finish(end) } }))
  }

  private func didOpen(_ limit: Int) {
    guard case .connecting(let opened) = phase else { return }
    messageLimit = limit
    phase = .open
    opened.succeed()
  }

  private func didReceive(_ message: BrokerMessage) {
    client?.handled(message.cost)
    received?(message)
  }

  private func finish(_ end: BrokerEnd) {
    guard isOpen else { return close(with: end) }
    let ended = ended
    release()
    ended?(end)
  }

  private func release() {
    phase = .ended
    client = nil
    received = nil
    ended = nil
  }

  /// Asks for the messages of a topic.
  /// - Parameter takesRetained: whether messages that the broker has kept are wanted, too.
  func subscribe(to topic: String, takesRetained: Bool) -> EventLoopFuture<Void> {
    execute { .subscribe(topic: topic, takesRetained: takesRetained, $0) }
  }

  /// Sends a message.
  func publish(
    _ payload: ByteBuffer, to topic: String, _ delivery: BrokerThread.Delivery = .unacknowledged
  ) -> EventLoopFuture<Void> {
    execute { .publish(topic: topic, payload: payload, delivery, $0) }
  }

  private func execute(_ command: (EventLoopPromise<Void>) -> BrokerThread.Command) -> EventLoopFuture<Void> {
    guard let client, isOpen else { return eventLoop.makeFailedFuture(BrokerEnd.closed) }
    let done = eventLoop.makePromise(of: Void.self)
    client.execute(command(done))
    return done.futureResult
  }

  /// Ends the connection normally, without a report.
  func close() {
    close(with: BrokerEnd.closed)
  }

  private func close(with error: any Error) {
    let (client, phase) = (client, phase)
    release()
    client?.execute(.close)
    if case .connecting(let opened) = phase { opened.fail(error) }
  }
}
