import HTTP2Session
import LineLayer
import NIOCore

/// Moves bytes between a channel and an ``HTTP2Session``, which decides everything else.
///
/// One handler for each connection, none added or removed for a stream. Output is pulled once for each turn of the loop,
/// and only as much as the channel takes, so that what is sent next is decided as late as possible.
final class HTTP2Driver: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// What a connection's role makes of the session's events. Called on the event loop.
  protocol Delegate: AnyObject {
    func handle(_ event: consuming HTTP2Event)
    /// What the end of the session means to those who use the connection.
    func explain(_ failure: HTTP2Failure) -> BywayError
    /// The last call. `error` tells why, where the connection did not end in good order.
    func connectionEnded(_ error: BywayError?)
    /// The peer has ended its sending direction.
    func inputEnded()
  }

  /// Bytes taken from the session for one write, where the channel does not say what it would like.
  private static let transmitQuantum = 64 * 1024
  /// How long a peer may take to read the rest before the channel is closed.
  private static let lastPatience = TimeAmount.seconds(30)

  let session: HTTP2Session
  let eventLoop: any EventLoop
  private let channel: any Channel
  /// Held until the connection has ended; a weak reference would make every retain of it slow.
  private var delegate: (any Delegate)?
  private var context: ChannelHandlerContext?
  private var stream: StreamChannel?
  private var output = ByteBuffer()
  private var isTransmitScheduled = false
  private var isClosing = false
  private var isEnded = false
  private var failure: BywayError?
  private lazy var timer = LazyTimer(on: eventLoop) { [unowned self] in timerFired() }

  init(_ session: HTTP2Session, on channel: any Channel) {
    self.session = session
    self.channel = channel
    eventLoop = channel.eventLoop
  }

  /// Of the line that this connection goes over; `nil` where there is none.
  var lineStatistics: LineStatistics? { stream?.lineStatistics }

  // MARK: For the role

  /// Enters the channel's pipeline, and reads from then on. All that becomes of the connection is told to the delegate, its
  /// end perhaps before this returns.
  func start(for delegate: any Delegate) {
    self.delegate = delegate
    do {
      try channel.pipeline.syncOperations.addHandler(self)
      channel.startReading()
    } catch {
      failure = BywayError(.linkLost, "The link was closed before it could be used.", cause: error)
      channel.close(promise: nil)
      end()
    }
  }

  /// Sends what the session has, at the end of this turn of the loop.
  func scheduleTransmit() {
    guard !isTransmitScheduled, !isEnded else { return }
    isTransmitScheduled = true
    eventLoop.assumeIsolated().execute { self.transmit() }
  }

  /// Closes the channel once what the session still wants to say is written.
  func close() {
    transmit()
    closeOnceWritten()
  }

  /// Closes the channel because of an error.
  func fail(_ error: BywayError) {
    failure = failure ?? error
    close()
  }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    stream = context.channel as? StreamChannel
    transmit()
    armTimer()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
    stream = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnded else { return }
    session.receive(unwrapInboundIn(data), at: eventLoop.now)
    drainEvents()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    scheduleTransmit()
    armTimer()
    context.fireChannelReadComplete()
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { transmit() }
    context.fireChannelWritabilityChanged()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { delegate?.inputEnded() }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    failure = failure ?? error as? BywayError ?? BywayError(.linkLost, "The link failed.", cause: error)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  // MARK: The pump

  private func transmit() {
    isTransmitScheduled = false
    guard let context, !isEnded else { return }
    var hasWritten = false
    while session.wantsTransmit, context.channel.isWritable {
      let room = stream?.room ?? Self.transmitQuantum
      guard room > 0 else { break }
      // Storage that the channel has let go of is used again; clearing one that it still holds makes a new one.
      output.clear()
      session.nextTransmit(maximum: room, into: &output, at: eventLoop.now)
      if output.readableBytes == 0 { break }
      context.write(wrapOutboundOut(output), promise: nil)
      hasWritten = true
      drainEvents()
    }
    if hasWritten { context.flush() }
    if session.isFinished { closeOnceWritten() }
    armTimer()
  }

  private func closeOnceWritten() {
    guard let context, !isEnded, !isClosing else { return }
    isClosing = true
    context.channel.closeOnceWritten(within: Self.lastPatience)
  }

  private func drainEvents() {
    while let event = session.nextEvent() {
      if case .failed(let failure) = event {
        self.failure = self.failure ?? delegate?.explain(failure) ?? BywayError(failure)
        scheduleTransmit()
      }
      delegate?.handle(event)
    }
  }

  private func end() {
    guard !isEnded else { return }
    isEnded = true
    timer.cancel()
    delegate.take()?.connectionEnded(failure)
  }

  // MARK: Time

  private func armTimer() {
    if !isEnded { timer.set(session.nextDeadline) }
  }

  private func timerFired() {
    guard !isEnded else { return }
    session.handleTimeout(at: eventLoop.now)
    drainEvents()
    scheduleTransmit()
    armTimer()
  }
}
