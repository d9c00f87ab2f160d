import Byway
import Glibc
import Logging
import NIOCore

/// One login at one server: moves bytes between a channel (TCP's, or one of another connection) and an ``SSHSession``, and
/// lets everything happen that can: the beginning, channels, ports that are listened on.
///
/// Sendable: `eventLoop` and the futures may be asked for anywhere; all else is touched on the event loop only.
final class SSHConnection: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  enum Phase {
    case handshaking, judging
    case loggingIn(Login)
    case ready, ended
  }

  /// Before the server is known it has no reason to send much.
  private static let earlyLimit = 1 << 20
  /// Of answers that a server has caused and does not read.
  private static let unsentLimit = 16 << 20
  private static let outputQuantum = 64 * 1024

  let session: SSHSession
  let failure: SSHFailure
  let eventLoop: any EventLoop
  let limits: SSHLimits
  let logger: Logger
  private(set) var context: ChannelHandlerContext?
  var identification = ServerIdentification()
  var phase = Phase.handshaking
  /// Until the login is done.
  var introduction: Introduction?
  let ready: EventLoopPromise<Void>
  private let endPromise: EventLoopPromise<Void>

  var operations = CircularBuffer<SSHOperation>()
  var carriers: [SSHChannelCarrier] = []
  var ports: [SSHPortListener] = []
  /// Channels and ports of which the server has not confirmed the end; each says whether it has by now.
  var closing: [() -> Bool] = []

  var lastHeard = NIODeadline.now()
  var probed: NIODeadline?
  lazy var livenessTimer = LazyTimer(on: eventLoop) { [unowned self] in checkLiveness() }
  private lazy var idleTimer = LazyTimer(on: eventLoop) { [unowned self] in leave() }
  private var idleSince: NIODeadline?
  private var receivedEarly = 0
  private var unsent = 0
  private var isPumping = false
  private var isPumpNeeded = false
  /// Whether further channels may be opened on it.
  private(set) var isUsable = true

  init(
    _ session: SSHSession, failure: SSHFailure, on eventLoop: any EventLoop, limits: SSHLimits, logger: Logger
  ) {
    self.session = session
    self.failure = failure
    self.eventLoop = eventLoop
    self.limits = limits
    self.logger = logger
    ready = eventLoop.makePromise()
    endPromise = eventLoop.makePromise()
  }

  var ended: EventLoopFuture<Void> { endPromise.futureResult }
  var channel: (any Channel)? { context?.channel }
  var isEnded: Bool { if case .ended = phase { true } else { false } }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    pump()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    end(failure.lost(nil, farewell: session.farewell))
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnded else { return }
    let bytes = unwrapInboundIn(data)
    lastHeard = .now()
    if case .handshaking = phase { identification.receive(bytes) }
    session.receive(bytes)
    guard case .ready = phase else { return receivedBeforeLogin(bytes.readableBytes) }
  }

  private func receivedBeforeLogin(_ count: Int) {
    receivedEarly += count
    if receivedEarly > Self.earlyLimit || identification.isTooLong || identification.stranger != nil {
      end(failure.handshaking(ChannelError.eof, identification))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    pump()
    // The server fills its segments (Nagle), and would wait for an acknowledgement that Linux delays: for each read again.
    try? context.channel.syncOptions?.setOption(.tcpOption(NIOBSDSocket.Option(rawValue: TCP_QUICKACK)), value: 1)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { pump() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { inputEnded(nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    inputEnded(error)
  }

  func channelInactive(context: ChannelHandlerContext) {
    inputEnded(nil)
    context.fireChannelInactive()
  }

  /// What came before is taken first: it may tell why.
  private func inputEnded(_ error: (any Error)?) {
    pump()
    guard !isEnded else { return }
    end(ending(error))
  }

  func ending(_ error: (any Error)?) -> BywayError {
    switch phase {
    case .handshaking: failure.endedEarly(identification, farewell: session.farewell)
    case .judging: failure.cutOff(session.farewell, tried: [], error)
    case .loggingIn(let login): failure.cutOff(session.farewell, tried: login.tried, error)
    case .ready, .ended: failure.lost(error, farewell: session.farewell)
    }
  }

  // MARK: The pump

  /// Lets everything happen that can, then sends what came of it.
  func pump() {
    isPumpNeeded = true
    guard !isPumping else { return }
    isPumping = true
    while isPumpNeeded, !isEnded {
      isPumpNeeded = false
      do throws(SSHError) {
        try turn()
      } catch {
        end(session.farewell == nil ? explain(error) : ending(error))
      }
    }
    isPumping = false
    flush()
    armIdleTimer()
  }

  private func explain(_ error: SSHError) -> BywayError {
    if case .handshaking = phase { return failure.handshaking(error, identification) }
    return ending(error)
  }

  private func turn() throws(SSHError) {
    switch phase {
    case .handshaking: if try session.handshake() { judge() }
    case .judging, .ended: break
    case .loggingIn(let login): try attempt(login)
    case .ready: try work()
    }
  }

  /// Reading comes first: it takes what has arrived, and with it the end of a key exchange that holds up all else.
  private func work() throws(SSHError) {
    for carrier in carriers { try carrier.receive() }
    try attemptOperations()
    for port in ports { try port.accept() }
    for carrier in carriers { try carrier.transmit() }
    closing.removeAll { $0() }
  }

  /// Whether the channel below takes more.
  var canSend: Bool {
    if session.pendingOutput >= Self.outputQuantum { flush() }
    return context?.channel.isWritable ?? false
  }

  func flush() {
    guard let context, let bytes = session.takeOutput() else { return }
    let count = bytes.readableBytes
    unsent += count
    let isTooMuch = unsent > Self.unsentLimit
    context.writeAndFlush(wrapOutboundOut(bytes)).assumeIsolated().whenComplete { _ in self.unsent -= count }
    if isTooMuch { end(failure.overflow) }
  }

  // MARK: The end

  /// Lets nobody open anything more on it; what is open lives on.
  func retire() {
    isUsable = false
    armIdleTimer()
  }

  func end(_ error: BywayError) {
    guard !isEnded else { return }
    let wasReady = if case .ready = phase { true } else { false }
    phase = .ended
    introduction?.page?.note {
      $0.identification = identification
      $0.farewell = session.farewell
    }
    isUsable = false
    livenessTimer.cancel()
    idleTimer.cancel()
    if wasReady {
      logger.debug("SSH connection over", metadata: ["server": "\(failure.server)", "reason": "\(error)"])
    }
    ready.fail(error)
    while let operation = operations.popFirst() { operation.fail(error) }
    for carrier in carriers { carrier.lost(error) }
    for port in ports { port.lost() }
    carriers = []
    ports = []
    closing = []
    session.signer = nil
    session.keyboard = nil
    endPromise.succeed()
    context?.close(promise: nil)
  }

  var isUsed: Bool { !carriers.isEmpty || !ports.isEmpty || !operations.isEmpty }

  private func armIdleTimer() {
    guard case .ready = phase, !isUsed else {
      idleSince = nil
      return idleTimer.set(nil)
    }
    let start = idleSince ?? .now()
    idleSince = start
    idleTimer.set(isUsable ? start + limits.lingering : start)
  }

  private func leave() {
    guard case .ready = phase, !isUsed else { return }
    session.disconnect()
    flush()
    end(failure.lost(nil, farewell: nil))
  }
}
