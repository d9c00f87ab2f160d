import Byway
import BywayLineLayer
import Logging
import NIOCore

/// A session of a listener with a user.
///
/// Lives on its event loop. The listener keeps it until it has ended.
final class GatewaySession: LineDriver.Delegate {
  let name: SessionName
  private(set) var isOpen = false
  private let driver: LineDriver
  private let topic: String
  private let opened: (StreamChannel) -> Void
  private let ended: (SessionName) -> Void
  private var medium: StreamChannel?
  private var session: StreamChannel?
  private var isOver = false

  /// - Parameters:
  ///   - topic: the topic of the messages to the user.
  ///   - opened: called with the session's channel, which is not active yet.
  ///   - ended: called once, unless the listener drops the session.
  init(
    _ name: SessionName, sendingTo topic: String, address: LinkAddress, on eventLoop: any EventLoop, logger: Logger,
    opened: @escaping (StreamChannel) -> Void, ended: @escaping (SessionName) -> Void
  ) {
    self.name = name
    self.topic = topic
    self.opened = opened
    self.ended = ended
    driver = LineDriver(SessionLayer.listener(at: eventLoop.now), address: address, on: eventLoop, logger: logger)
    driver.delegate = self
  }

  /// Continues over another connection to the broker.
  func attach(to broker: BrokerConnection) {
    guard !isOver else { return }
    let medium = SessionMedium.channel(over: broker, sendingTo: topic)
    self.medium = medium
    medium.activate()
    do {
      try driver.attach(medium)
    } catch {
      medium.close(promise: nil)
    }
  }

  /// The connection to the broker is lost.
  func detach() {
    medium.take()?.close(promise: nil)
  }

  func receive(_ bytes: [UInt8]) {
    medium?.deliver(ByteBuffer(bytes: bytes))
  }

  /// Ends a session that has not opened in time.
  func drop() {
    isOver = true
    driver.abort()
    driver.delegate = nil
    driver.detach()
  }

  // MARK: LineDriver.Delegate

  func sessionOpened(_ channel: StreamChannel) {
    guard !isOver, session == nil else { return channel.close(promise: nil) }
    session = channel
    isOpen = true
    opened(channel)
  }

  func sessionEnded(_ end: SessionEnd) -> EventLoopFuture<Void> {
    let eventLoop = driver.eventLoop
    guard !isOver else { return eventLoop.makeSucceededVoidFuture() }
    switch end {
    case .finished, .abortedHere: break
    default: session?.ended(MQTTFailure.ended(end, on: driver.address))
    }
    // The driver's last output is sent in this turn of the loop.
    return eventLoop.assumeIsolated().submit {
      self.driver.delegate = nil
      self.driver.detach()
      self.ended(self.name)
    }
  }

  func lineLost() {}

  var unavailableReason: String? { nil }
}
