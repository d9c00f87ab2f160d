import Byway
import BywayLineLayer
import Logging
import NIOCore

/// The session of a user with a gateway: topics of its own, and the line layer over them. It connects to the broker again for as long as the
/// session can be resumed.
///
/// Lives on its event loop; kept alive by the driver until the session has ended.
final class MQTTClientSession: LineDriver.Delegate, @unchecked Sendable {
  // Sendable: its variables are used on the event loop only.

  /// The time for an announcement to arrive after its topic was subscribed to.
  private static let announcementLimit = TimeAmount.seconds(1)
  /// The time that a gateway without a connection to the broker has to come back.
  private static let absenceLimit = TimeAmount.seconds(3)
  /// The time that a gateway has after this end has lost the broker and reached it again: the gateway has probably lost it, too.
  var returnLimit = TimeAmount.seconds(10)
  /// The time limit of an attempt to connect to the broker again.
  private static let patience = TimeAmount.seconds(5)

  private let target: MQTTTarget
  private let settings: BrokerSettings
  private let access: BrokerAccess
  private let name: SessionName
  private let driver: LineDriver
  private let logger: Logger
  private let peer: LinkPeer
  private var broker: BrokerConnection?
  private var medium: StreamChannel?
  private var session: StreamChannel?
  private var opened: EventLoopPromise<any Channel>?
  /// `nil` until a message has arrived.
  private var presence: Presence?
  private var announced: EventLoopPromise<Void>?
  /// The run of the gateway that the session is with.
  private var gatewayRun: SessionName?
  private var absence: Scheduled<Void>?
  private(set) var pause = ReconnectPause()
  private var isOver = false
  private(set) var unavailableReason: String?

  private var eventLoop: any EventLoop { driver.eventLoop }

  init(
    _ target: MQTTTarget, on eventLoop: any EventLoop, over access: BrokerAccess = .library, context: LinkContext
  ) throws {
    self.target = target
    self.access = access
    name = .random()
    settings = try target.settings(clientID: "byway-\(name.description.prefix(16))")
    logger = context.logger
    peer = context.peer
    driver = LineDriver(
      SessionLayer.dialer(at: eventLoop.now), address: target.address, on: eventLoop, logger: context.logger)
  }

  // MARK: Opening

  /// Connects to the broker, and finds the gateway.
  func reach(by deadline: NIODeadline) -> EventLoopFuture<Void> {
    connect(by: deadline).assumeIsolated().flatMap { _ in
      let announced = self.eventLoop.makePromise(of: Void.self)
      self.announced = announced
      if self.presence != nil { announced.succeed() }
      let timeout = self.eventLoop.assumeIsolated().scheduleTask(
        deadline: min(deadline, self.eventLoop.now + Self.announcementLimit)
      ) { announced.succeed() }
      return announced.futureResult.always { _ in timeout.cancel() }
    }.flatMapThrowing {
      self.announced = nil
      guard self.broker?.isOpen == true else { throw MQTTFailure.connecting(to: self.target, BrokerEnd.closed) }
      switch self.presence {
      case .present(let run): self.gatewayRun = run
      case .foreign: throw MQTTFailure.foreignAnnouncement(self.target)
      case .absent, .leaving, nil: throw MQTTFailure.noGateway(self.target, expecting: self.peer)
      }
    }.nonisolated()
  }

  /// Opens the session.
  func open(by deadline: NIODeadline) -> EventLoopFuture<any Channel> {
    let opened = eventLoop.makePromise(of: (any Channel).self)
    self.opened = opened
    driver.delegate = self
    let timeout = eventLoop.assumeIsolated().scheduleTask(deadline: deadline) { self.driver.abort() }
    opened.futureResult.whenComplete { _ in timeout.cancel() }
    guard let broker, broker.isOpen else {
      driver.delegate = nil
      opened.fail(MQTTFailure.connecting(to: target, BrokerEnd.closed))
      return opened.futureResult
    }
    attach(to: broker)
    driver.open(session: .random(in: 0 ... .max))
    return opened.futureResult
  }

  /// Gives up before the session is open.
  func abandon() {
    broker.take()?.close()
  }

  private func connect(by deadline: NIODeadline) -> EventLoopFuture<BrokerConnection> {
    presence = nil
    let broker = BrokerConnection(
      on: eventLoop, over: access, received: { self.received($0) }, ended: { self.brokerLost($0) })
    self.broker = broker
    let (target, topics, name) = (target, target.topics, name)
    return broker.open(settings, by: deadline).flatMapErrorThrowing { throw MQTTFailure.connecting(to: target, $0) }
      .flatMap {
        let topic = topics.gateway
        return broker.subscribe(to: topic, takesRetained: true)
          .flatMapErrorThrowing { throw MQTTFailure.topic(topic, for: .reading, of: target, $0) }
      }.flatMap {
        let topic = topics.down(name)
        return broker.subscribe(to: topic, takesRetained: false)
          .flatMapErrorThrowing { throw MQTTFailure.topic(topic, for: .reading, of: target, $0) }
      }.flatMap {
        // An empty message, which the gateway ignores: the broker's answer tells whether this end may write there.
        let topic = topics.up(name)
        return broker.publish(ByteBuffer(), to: topic, .acknowledged(isRetained: false))
          .flatMapErrorThrowing { throw MQTTFailure.topic(topic, for: .writing, of: target, $0) }
      }.map { broker }.failing(with: MQTTFailure.connecting(to: target, BrokerEnd.silent), at: deadline)
  }

  private func attach(to broker: BrokerConnection) {
    let medium = SessionMedium.channel(over: broker, sendingTo: target.topics.up(name))
    self.medium = medium
    medium.activate()
    do {
      try driver.attach(medium)
      unavailableReason = nil
      pause.reset()
    } catch {
      medium.close(promise: nil)
    }
  }

  // MARK: The broker

  private func received(_ message: BrokerMessage) {
    if message.topic == target.topics.gateway {
      presence = Presence(message.payload)
      announced?.succeed()
      presenceChanged()
    } else if message.topic == target.topics.down(name), !message.isRetained {
      medium?.deliver(ByteBuffer(bytes: message.payload))
    }
  }

  private func presenceChanged(limit: TimeAmount = MQTTClientSession.absenceLimit) {
    guard let run = gatewayRun, !isOver else { return }
    switch presence {
    case .present(run), .leaving(run):
      absence.take()?.cancel()
    case .present, .leaving:
      fail(MQTTFailure.gatewayRestarted(target.address))
    case .absent, nil:
      guard absence == nil else { return }
      absence = eventLoop.assumeIsolated().scheduleTask(in: limit) {
        self.fail(MQTTFailure.gatewayLeft(self.target.address))
      }
    case .foreign: break
    }
  }

  private func brokerLost(_ end: BrokerEnd) {
    unavailableReason = MQTTFailure.connecting(to: target, end).message
    announced?.succeed()
    // The driver reports the lost line.
    medium.take()?.close(promise: nil)
  }

  /// Ends the session with an error of its own.
  private func fail(_ error: BywayError) {
    guard !isOver else { return }
    session?.ended(error)
    opened.take()?.fail(error)
    driver.abort()
  }

  // MARK: LineDriver.Delegate

  func sessionOpened(_ channel: StreamChannel) {
    guard let opened = opened.take() else { return }
    session = channel
    channel.handOver(to: opened) { self.driver.abort() }
  }

  func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
    guard !isOver else { return eventLoop.makeSucceededVoidFuture() }
    isOver = true
    absence.take()?.cancel()
    let isLate = end == .abortedHere || end == .silence
    opened.take()?.fail(isLate ? MQTTFailure.noAnswer(target) : MQTTFailure.ended(end, on: target.address))
    switch end {
    case .finished, .abortedHere: break
    default: session?.ended(MQTTFailure.ended(end, on: target.address))
    }
    // The driver's last output is sent in this turn of the loop.
    return eventLoop.assumeIsolated().submit {
      self.driver.delegate = nil
      self.driver.detach()
      self.broker.take()?.close()
    }
  }

  func lineLost() {
    guard !isOver else { return }
    eventLoop.assumeIsolated().scheduleTask(in: pause.next()) {
      guard !self.isOver else { return }
      self.connect(by: self.eventLoop.now + Self.patience).assumeIsolated().whenComplete { result in
        self.reconnected(result)
      }
    }
  }

  private func reconnected(_ result: Result<BrokerConnection, any Error>) {
    guard !isOver else { return }
    switch result {
    case .success(let broker):
      logger.notice("The broker is reached again", metadata: ["link": "\(target.address)"])
      attach(to: broker)
      // Without an announcement by now, the gateway has to come back in time.
      presenceChanged(limit: returnLimit)
    case .failure(let error):
      unavailableReason = "\(error)"
      logger.debug("The broker is not reached", metadata: ["link": "\(target.address)", "reason": "\(error)"])
      broker.take()?.close()
      lineLost()
    }
  }
}
