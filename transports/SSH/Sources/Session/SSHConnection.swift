import Byway
import BywayLibC
import Logging
import NIOCore

/// A login at one server. It moves bytes between a channel (TCP, or a channel of another connection) and an ``SSHSession``,
/// and drives everything that can make progress: the handshake, channels and listened ports.
///
/// Sendable: `eventLoop` and the futures may be used anywhere; everything else is used on the event loop only.
final class SSHConnection: ChannelInboundHandler, @unchecked Sendable {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  enum Phase {
    case handshaking(Introduction), judging(Introduction)
    case loggingIn(Login)
    /// A retired connection opens no further channels. Open ones continue.
    case ready(isRetired: Bool)
    case ended

    /// The journal page until the login is done, if the session is examined.
    var page: SSHJournal.Page? {
      switch self {
      case .handshaking(let introduction), .judging(let introduction): introduction.page
      case .loggingIn(let login): login.page
      case .ready, .ended: nil
      }
    }
  }

  private enum Pumping {
    case idle, running
    /// Another turn is needed.
    case runningAgain
  }

  /// Limits the bytes before the login. The server has no reason to send much by then.
  private static let earlyLimit = 1 << 20
  /// Limits the unsent answers that the server has caused and does not read.
  private static let unsentLimit = 16 << 20
  private static let outputQuantum = 64 * 1024

  let session: SSHSession
  let failure: SSHFailure
  let eventLoop: any EventLoop
  let limits: SSHLimits
  let logger: Logger
  private(set) var context: ChannelHandlerContext?
  var identification = ServerIdentification()
  var phase: Phase
  let ready: EventLoopPromise<Void>
  private let endPromise: EventLoopPromise<Void>

  var operations = CircularBuffer<SSHOperation>()
  var carriers: [SSHChannelCarrier] = []
  var ports: [SSHPortListener] = []
  /// Channels and ports whose close the server has not confirmed. Each closure returns whether it has by now.
  var closing: [() -> Bool] = []

  var lastHeard = NIODeadline.now()
  var probed: NIODeadline?
  lazy var livenessTimer = LazyTimer(on: eventLoop) { [unowned self] in checkLiveness() }
  private lazy var idleTimer = LazyTimer(on: eventLoop) { [unowned self] in disconnectIfIdle() }
  private var idleSince: NIODeadline?
  private var receivedEarly = 0
  private var unsent = 0
  private var pumping = Pumping.idle

  init(
    _ session: SSHSession, _ introduction: Introduction, failure: SSHFailure, on eventLoop: any EventLoop,
    limits: SSHLimits, logger: Logger
  ) {
    self.session = session
    phase = .handshaking(introduction)
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
  /// Whether further channels may be opened.
  var isUsable: Bool {
    switch phase {
    case .ready(isRetired: true), .ended: false
    case .handshaking, .judging, .loggingIn, .ready: true
    }
  }

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
    if receivedEarly > Self.earlyLimit || identification.isTooLong || identification.unexpectedPeer != nil {
      end(failure.handshaking(ChannelError.eof, identification))
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    pump()
    // With Nagle's algorithm, the server would wait for an acknowledgement that Linux delays. The option must be set again for
    // each read.
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

  /// Processes received bytes first: they may contain the reason.
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

  /// Makes all possible progress, then sends the resulting output.
  func pump() {
    let isNested = pumping != .idle
    pumping = .runningAgain
    guard !isNested else { return }
    while pumping == .runningAgain, !isEnded {
      pumping = .running
      do throws(SSHError) {
        try turn()
      } catch {
        end(session.farewell == nil ? explain(error) : ending(error))
      }
    }
    pumping = .idle
    flush()
    armIdleTimer()
  }

  private func explain(_ error: SSHError) -> BywayError {
    if case .handshaking = phase { return failure.handshaking(error, identification) }
    return ending(error)
  }

  private func turn() throws(SSHError) {
    switch phase {
    case .handshaking(let introduction): if try session.handshake() { verify(introduction) }
    case .judging, .ended: break
    case .loggingIn(let login): try attempt(login)
    case .ready: try work()
    }
  }

  /// Reads first: this processes the received bytes, and with them the end of a key exchange, which blocks everything else.
  private func work() throws(SSHError) {
    for carrier in carriers { try carrier.receive() }
    try attemptOperations()
    for port in ports { try port.accept() }
    for carrier in carriers { try carrier.transmit() }
    closing.removeAll { $0() }
  }

  /// Whether the underlying channel accepts more.
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

  func retire() {
    guard case .ready = phase else { return }
    phase = .ready(isRetired: true)
    armIdleTimer()
  }

  func end(_ error: BywayError) {
    guard !isEnded else { return }
    let wasReady = if case .ready = phase { true } else { false }
    phase.page?.note {
      $0.identification = identification
      $0.farewell = session.farewell
    }
    phase = .ended
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

  private func disconnectIfIdle() {
    guard case .ready = phase, !isUsed else { return }
    session.disconnect()
    flush()
    end(failure.lost(nil, farewell: nil))
  }
}
