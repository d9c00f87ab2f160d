import Byway
import Logging
import NIOCore
import Synchronization

/// A gateway's place at a broker: announces the gateway, and accepts the sessions of its users.
///
/// Lives on its event loop.
final class GatewayListener: @unchecked Sendable {
  // Sendable: its variables are used on the event loop only; the reason has a lock.
  private enum Phase {
    case open
    /// No other sessions are accepted.
    case leaving
    case closed
  }

  /// The time that a session has to open.
  private static let openingLimit = TimeAmount.seconds(10)
  /// The time limit of an attempt to connect to the broker again.
  private static let patience = TimeAmount.seconds(10)
  /// The pause before an announcement is repeated that another program has replaced.
  private static let repetition = TimeAmount.seconds(1)
  /// The time for another gateway to answer.
  private static let rivalProbeLimit = TimeAmount.seconds(1)
  /// The time for the broker to take the last message.
  private static let farewellLimit = TimeAmount.seconds(2)

  let queue = ChannelQueue()
  private let target: MQTTTarget
  private let settings: BrokerSettings
  private let access: BrokerAccess
  private let eventLoop: any EventLoop
  private let logger: Logger
  private let connections: ConnectionLimit
  private let run = SessionName.random()
  private let reason = Mutex<String?>(nil)
  private var phase = Phase.open
  private var broker: BrokerConnection?
  private var sessions: [SessionName: GatewaySession] = [:]
  private(set) var openings = OpeningTable()
  private var refusals = SparseLog()
  private var warnings = SparseLog()
  private(set) var pause = ReconnectPause()
  private var isRepeating = false
  /// The run of another gateway whose announcement was found before this one announced itself.
  private var rival: SessionName?
  private var rivalProbe: (name: SessionName, answered: EventLoopPromise<Void>)?
  /// Whether this connection to the broker has carried the announcement, which the broker may have taken.
  private var hasSentAnnouncement = false
  /// Whether the connection to the broker is complete.
  private var isAnnounced = false

  init(
    _ target: MQTTTarget, on eventLoop: any EventLoop, over access: BrokerAccess = .library, context: LinkContext
  ) throws {
    self.target = target
    self.access = access
    self.eventLoop = eventLoop
    logger = context.logger
    connections = context.connections
    var settings = try target.settings(clientID: "byway-\(run.description.prefix(16))")
    settings.will = BrokerSettings.Will(topic: target.topics.gateway, payload: Presence.absent.payload)
    self.settings = settings
  }

  /// Why users cannot reach the gateway now. Any thread.
  var unavailableReason: String? { reason.withLock(\.self) }

  /// Connects to the broker, and announces the gateway.
  func start(by deadline: NIODeadline) -> EventLoopFuture<Void> {
    let broker = BrokerConnection(
      on: eventLoop, over: access, received: { self.received($0) }, ended: { self.brokerLost($0) })
    self.broker = broker
    rival = nil
    hasSentAnnouncement = false
    let (target, topics) = (target, target.topics)
    return broker.open(settings, by: deadline).flatMapErrorThrowing { throw MQTTFailure.connecting(to: target, $0) }
      .flatMap {
        // To notice other announcements. This is not necessary, so a refusal does not matter.
        broker.subscribe(to: topics.gateway, takesRetained: true).flatMapErrorThrowing { _ in }
      }.flatMap {
        broker.subscribe(to: topics.anyUp, takesRetained: false)
          .flatMapErrorThrowing { throw MQTTFailure.topic(topics.anyUp, for: .reading, of: target, $0) }
      }.assumeIsolated().flatMap { self.probeRival(over: broker) }
      .flatMap { self.announce(over: broker) }
      .nonisolated().failing(with: MQTTFailure.connecting(to: target, BrokerEnd.silent), at: deadline)
      .assumeIsolated().flatMapThrowing {
        guard broker.isOpen else { throw MQTTFailure.connecting(to: target, BrokerEnd.closed) }
        self.isAnnounced = true
      }
      .flatMapErrorThrowing { error in
        self.abandon(broker)
        throw error
      }.nonisolated()
  }

  /// Finds out whether another gateway is at the topic. An announcement alone may be an old one, which a broker has kept over its restart. So
  /// a message is sent as a user would, which a gateway answers with the hello of the line layer.
  private func probeRival(over broker: BrokerConnection) -> EventLoopFuture<Void> {
    guard let rival, rival != run else { return eventLoop.makeSucceededVoidFuture() }
    let (name, answered) = (SessionName.random(), eventLoop.makePromise(of: Void.self))
    rivalProbe = (name, answered)
    let (target, topics) = (target, target.topics)
    broker.subscribe(to: topics.down(name), takesRetained: false).flatMap {
      broker.publish(ByteBuffer(bytes: [0]), to: topics.up(name))
    }.whenFailure { answered.fail($0) }
    return answered.futureResult.failing(with: BrokerEnd.silent, at: eventLoop.now + Self.rivalProbeLimit)
      .assumeIsolated().always { _ in self.rivalProbe = nil }.nonisolated()
      .map { true }.recover { _ in false }
      .flatMapThrowing { isAnswered in if isAnswered { throw MQTTFailure.occupied(target) } }
  }

  /// Closes a connection on which the start failed. A normal end discards the will, so an announcement that has been sent is cleared.
  private func abandon(_ broker: BrokerConnection) {
    if hasSentAnnouncement {
      broker.publish(
        ByteBuffer(bytes: Presence.absent.payload), to: target.topics.gateway, .acknowledged(isRetained: true)
      )
      .whenFailure { _ in }
    }
    broker.close()
  }

  private var announcement: Presence {
    switch phase {
    case .open: .present(run)
    case .leaving: .leaving(run)
    case .closed: .absent
    }
  }

  private func announce(over broker: BrokerConnection) -> EventLoopFuture<Void> {
    let (target, topic) = (target, target.topics.gateway)
    hasSentAnnouncement = true
    return broker.publish(ByteBuffer(bytes: announcement.payload), to: topic, .acknowledged(isRetained: true))
      .flatMapErrorThrowing { throw MQTTFailure.topic(topic, for: .writing, of: target, $0) }
  }

  // MARK: The broker

  private func brokerLost(_ end: BrokerEnd) {
    // Before the announcement, the attempt to connect fails, which is enough.
    guard isAnnounced else { return }
    isAnnounced = false
    let error = MQTTFailure.connecting(to: target, end)
    logger.notice(
      "The broker is lost; the sessions wait for it", metadata: ["link": "\(target.address)", "reason": "\(error)"])
    reason.withLock { $0 = error.message }
    for session in sessions.values { session.detach() }
    reconnect()
  }

  /// Waits for a broker that was out of reach when the gateway started.
  func wait(for error: BywayError) {
    logger.warning(
      "The broker is not reached; the gateway waits for it",
      metadata: ["link": "\(target.address)", "reason": "\(error)"])
    reason.withLock { $0 = error.message }
    reconnect()
  }

  private func reconnect() {
    guard phase != .closed else { return }
    eventLoop.assumeIsolated().scheduleTask(in: pause.next()) {
      guard self.phase != .closed else { return }
      self.start(by: self.eventLoop.now + Self.patience).assumeIsolated().whenComplete { result in
        self.reconnected(result)
      }
    }
  }

  private func reconnected(_ result: Result<Void, any Error>) {
    switch result {
    case .success:
      pause.reset()
      reason.withLock { $0 = nil }
      logger.notice("The broker is reached again", metadata: ["link": "\(target.address)"])
      if let broker { for session in sessions.values { session.attach(to: broker) } }
    case .failure(let error):
      reason.withLock { $0 = BywayError(error).message }
      logger.debug("The broker is not reached", metadata: ["link": "\(target.address)", "reason": "\(error)"])
      reconnect()
    }
  }

  private func received(_ message: BrokerMessage) {
    if message.topic == target.topics.gateway { return announced(Presence(message.payload)) }
    if let rivalProbe, message.topic == target.topics.down(rivalProbe.name) { return rivalProbe.answered.succeed() }
    guard let name = target.topics.session(ofUp: message.topic), name != rivalProbe?.name, !message.isRetained,
      !message.payload.isEmpty
    else { return }
    if let session = sessions[name] {
      session.receive(message.payload)
    } else {
      begin(name)?.receive(message.payload)
    }
  }

  /// Another announcement than this gateway's is at its topic: the last-will message of an earlier run, or a message of another program.
  private func announced(_ presence: Presence) {
    guard isAnnounced else {
      rival = if case .present(let other) = presence { other } else { nil }
      return
    }
    guard presence != announcement, phase == .open, !isRepeating else { return }
    if case .present(let other) = presence, other != run {
      guard let more = warnings.admit(at: eventLoop.now) else { return }
      logger.warning(
        "Another gateway announces itself at the same topic: stop one of them",
        metadata: ["link": "\(target.address)", "times": "\(more + 1)"])
      return
    }
    isRepeating = true
    eventLoop.assumeIsolated().scheduleTask(in: Self.repetition) {
      self.isRepeating = false
      guard self.phase == .open, let broker = self.broker, broker.isOpen else { return }
      self.announce(over: broker).whenFailure { _ in }
    }
  }

  // MARK: Sessions

  private func begin(_ name: SessionName) -> GatewaySession? {
    guard phase == .open, let broker else { return nil }
    guard connections.hasRoom else {
      connections.askForRoom()
      return refuse("the limit of connections is reached")
    }
    switch openings.admit(name, at: eventLoop.now) {
    case .admitted: break
    case .replacing(let older): drop(older)
    case .refused: return refuse("too many sessions begin at once")
    }
    let session = GatewaySession(
      name, sendingTo: target.topics.down(name), address: target.address, on: eventLoop, logger: logger,
      opened: { self.opened(name, $0) }, ended: { self.ended($0) })
    sessions[name] = session
    session.attach(to: broker)
    // A session that has ended is not kept until then.
    eventLoop.assumeIsolated().scheduleTask(in: Self.openingLimit) { [weak session] in
      if let session, session === self.sessions[name], !session.isOpen { self.drop(name) }
    }
    return session
  }

  private func refuse(_ reason: String) -> GatewaySession? {
    if let more = refusals.admit(at: eventLoop.now) {
      logger.warning(
        "A session was refused",
        metadata: ["link": "\(target.address)", "reason": "\(reason)", "times": "\(more + 1)"])
    }
    return nil
  }

  private func opened(_ name: SessionName, _ channel: StreamChannel) {
    openings.remove(name)
    connections.count(channel)
    channel.prepareForHandover(to: queue).assumeIsolated().whenComplete { result in
      if case .success = result { channel.activate() } else { channel.close(promise: nil) }
    }
  }

  private func drop(_ name: SessionName) {
    sessions[name]?.drop()
    ended(name)
  }

  private func ended(_ name: SessionName) {
    openings.remove(name)
    sessions[name] = nil
    if phase == .leaving, sessions.isEmpty { _ = leave() }
  }

  // MARK: Closing

  /// Stops accepting. Open sessions continue until their owners end them.
  func close() -> EventLoopFuture<Void> {
    guard phase == .open else { return eventLoop.makeSucceededVoidFuture() }
    phase = .leaving
    for session in sessions.values where !session.isOpen { drop(session.name) }
    // The last of those may have ended the phase.
    guard phase == .leaving else { return eventLoop.makeSucceededVoidFuture() }
    if sessions.isEmpty { return leave() }
    guard let broker else { return eventLoop.makeSucceededVoidFuture() }
    return announce(over: broker).settled(within: Self.farewellLimit)
  }

  /// Clears the announcement and ends the connection.
  private func leave() -> EventLoopFuture<Void> {
    phase = .closed
    guard let broker = broker.take() else { return eventLoop.makeSucceededVoidFuture() }
    return announce(over: broker).settled(within: Self.farewellLimit).assumeIsolated().always { _ in broker.close() }
      .nonisolated()
  }
}
