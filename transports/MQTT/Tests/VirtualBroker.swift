import Byway
import Glibc
import Logging
import NIOCore
import NIOEmbedded
import TestTools

@testable import MQTTTransport

/// A broker, and the way to it, in virtual time. A test and all clients use it on one thread.
final class VirtualBroker: @unchecked Sendable {
  // Sendable: it is used on one thread.
  struct Published: Equatable {
    var topic: String
    var payload: [UInt8]
    var isRetained: Bool
  }

  let loop = EmbeddedEventLoop()
  /// Whether connections are accepted.
  var isUp = true
  /// Whether clients are logged in. Without that they wait.
  var logsIn = true
  /// The topics whose commands get no answer.
  var silentTopics: (String) -> Bool = { _ in false }
  /// The topics that clients may not use.
  var deniedTopics: (String) -> Bool = { _ in false }
  var messageLimit = BrokerSettings.messageLimit
  fileprivate(set) var clients: [VirtualClient] = []
  fileprivate(set) var published: [Published] = []
  /// The times at which clients have tried to connect, in milliseconds, and the time that each of them had.
  fileprivate(set) var attempts: [(at: UInt64, limit: TimeAmount)] = []
  fileprivate var kept: [String: [UInt8]] = [:]

  var milliseconds: UInt64 { loop.now.uptimeNanoseconds / 1_000_000 }

  var access: BrokerAccess {
    BrokerAccess(
      reach: { [self] _, loop, limit in
        attempts.append((milliseconds, limit))
        guard isUp else { return loop.makeFailedFuture(IOError(errnoCode: ECONNREFUSED, reason: "connect")) }
        return loop.makeSucceededVoidFuture()
      },
      start: { [self] settings, handlers in
        let client = VirtualClient(self, settings, handlers)
        clients.append(client)
        if logsIn { loop.execute { client.handlers?.opened(self.messageLimit) } }
        return client
      })
  }

  /// Returns what a link has at this broker.
  /// - Parameter log: the record of its log; `nil` to drop that.
  func context(_ log: LogRecord? = nil, connections: Int = .max) -> LinkContext {
    LinkContext(
      group: loop, logger: log?.logger ?? Logger(label: "quiet") { _ in SwiftLogNoOpLogHandler() },
      deadline: .distantFuture, connections: ConnectionLimit(connections))
  }

  /// Lets time pass.
  func advance(_ milliseconds: Int64 = 0) {
    loop.advanceTime(by: .milliseconds(milliseconds))
  }

  func publish(_ payload: [UInt8], to topic: String, isRetained: Bool = false) {
    published.append(Published(topic: topic, payload: payload, isRetained: isRetained))
    if isRetained { kept[topic] = payload.isEmpty ? nil : payload }
    for client in clients where client.subscriptions.contains(where: { Self.matches($0, topic) }) {
      client.handlers?.received(BrokerMessage(topic: topic, payload: payload, isRetained: false))
    }
  }

  /// Ends all connections, and forgets the messages that it has kept.
  func restart(isUp: Bool = true) {
    self.isUp = isUp
    kept = [:]
    for client in clients { client.end(.lost("gone")) }
    advance()
  }

  /// Ends one connection, and publishes its will.
  func lose(_ client: VirtualClient) {
    client.end(.lost("gone"))
    if let will = client.settings.will { publish(will.payload, to: will.topic, isRetained: true) }
    advance()
  }

  /// Ends one connection as if the broker had forgotten the will.
  func loseWithoutWill(_ client: VirtualClient) {
    client.end(.lost("gone"))
    advance()
  }

  func forgetPublished() {
    published = []
  }

  private static func matches(_ pattern: String, _ topic: String) -> Bool {
    let (levels, found) = (pattern.split(separator: "/"), topic.split(separator: "/"))
    return levels.count == found.count && zip(levels, found).allSatisfy { $0 == "+" || $0 == $1 }
  }
}

/// A client of a virtual broker.
final class VirtualClient: BrokerClient, @unchecked Sendable {
  // Sendable: it is used on one thread.
  let settings: BrokerSettings
  fileprivate(set) var subscriptions: [String] = []
  fileprivate(set) var handlers: BrokerThread.Handlers?
  /// The cost of the messages that the owner has handled.
  private(set) var handledCost = 0
  private unowned let broker: VirtualBroker
  private var unanswered: [EventLoopPromise<Void>] = []

  fileprivate init(_ broker: VirtualBroker, _ settings: BrokerSettings, _ handlers: BrokerThread.Handlers) {
    (self.broker, self.settings, self.handlers) = (broker, settings, handlers)
  }

  func execute(_ command: BrokerThread.Command) {
    broker.loop.execute { self.perform(command) }
  }

  func handled(_ cost: Int) {
    handledCost += cost
  }

  /// Answers the commands that have waited.
  func answer() {
    let promises = unanswered
    unanswered = []
    for promise in promises { promise.succeed() }
  }

  fileprivate func end(_ end: BrokerEnd) {
    broker.clients.removeAll { $0 === self }
    for promise in unanswered { promise.fail(end) }
    unanswered = []
    handlers?.ended(end)
    handlers = nil
  }

  private func perform(_ command: BrokerThread.Command) {
    switch command {
    case .publish(let topic, let payload, let delivery, let promise):
      guard answers(topic, promise) else { return }
      let isRetained = if case .acknowledged(true) = delivery { true } else { false }
      broker.publish(Array(payload.readableBytesView), to: topic, isRetained: isRetained)
      promise.succeed()
    case .subscribe(let topic, let takesRetained, let promise):
      guard answers(topic, promise) else { return }
      subscriptions.append(topic)
      if takesRetained, let payload = broker.kept[topic] {
        handlers?.received(BrokerMessage(topic: topic, payload: payload, isRetained: true))
      }
      promise.succeed()
    case .close: end(.closed)
    }
  }

  private func answers(_ topic: String, _ promise: EventLoopPromise<Void>) -> Bool {
    if handlers == nil {
      promise.fail(BrokerEnd.closed)
    } else if broker.deniedTopics(topic) {
      promise.fail(BrokerEnd.denied(code: 0x87, words: "Not authorized"))
    } else if broker.silentTopics(topic) {
      unanswered.append(promise)
    } else {
      return true
    }
    return false
  }
}

/// The result of a future in virtual time.
final class Outcome<Value: Sendable>: @unchecked Sendable {
  // Sendable: it is used on one thread.
  private(set) var result: Result<Value, any Error>?

  init(_ future: EventLoopFuture<Value>) {
    future.whenComplete { self.result = $0 }
  }

  var value: Value? { try? result?.get() }
  var error: BywayError? { failure as? BywayError }

  var failure: (any Error)? {
    guard case .failure(let error) = result else { return nil }
    return error
  }
}

/// The events of a link's channel.
final class ChannelRecord: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private(set) var bytes: [UInt8] = []
  private(set) var errors: [String] = []
  private(set) var isEnded = false

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    bytes += unwrapInboundIn(data).readableBytesView
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.read()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    errors.append((error as? BywayError)?.message ?? "\(error)")
  }

  func channelInactive(context: ChannelHandlerContext) {
    isEnded = true
  }

  /// Adds a record to a channel, and starts reading.
  static func add(to channel: any Channel) throws -> ChannelRecord {
    let record = ChannelRecord()
    try channel.pipeline.syncOperations.addHandler(record)
    channel.startReading()
    return record
  }
}
