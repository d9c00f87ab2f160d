import HTTP1Session
import HTTPWire
import NIOCore

/// A connection to an HTTP/1.1 server, with at most one exchange on it.
///
/// Lives on its channel's event loop.
final class HTTP1ClientConnection: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let upstream: HTTP1Upstream
  private let channel: any Channel
  private let output: HTTP1Output
  private var context: ChannelHandlerContext?
  private var parser: ResponseParser
  private var encoder = RequestEncoder()
  private var exchange: HTTP1Exchange?
  private var handshake: WebSocketHandshake?
  private var tunnel = Tunnel.none
  /// What the client sends before its tunnel is open; bounded by its window, because none of it is credited.
  private var early = ByteBuffer()
  private var isFinishedEarly = false
  private var hasResponse = false
  private var isResponseComplete = false
  /// The response's body has a declared length.
  private var isBodyBounded = false
  private var isRequestSent = false
  private var wasUsable = false
  private var isEnded = false
  /// Has been told to close, which takes a while over a line.
  private var isClosing = false
  private var gate = ReadGate() {
    didSet { reads.bound.bytes = gate.room }
  }
  private let reads = BoundedReads()
  /// It has served, or waited for its first exchange, and may be closed by its peer at any moment.
  var isKept = false
  private lazy var timer = LazyTimer(on: channel.eventLoop) { [unowned self] in timedOut() }

  private enum Tunnel {
    case none, requested, open
    /// The client has ended its direction of a WebSocket, and the server has not been told yet.
    case closing
  }

  /// The upstream hears of the connection when it can be used, and when it ends: at once perhaps, with what the channel has
  /// kept.
  static func start(on channel: any Channel, upstream: HTTP1Upstream) {
    let connection = HTTP1ClientConnection(channel, upstream)
    do {
      try channel.pipeline.syncOperations.addHandler(connection)
      channel.startReading()
    } catch {
      return connection.fail(
        BywayError(.originLost, "\(upstream.dialer.name) closed the connection at once.", cause: error))
    }
    if !connection.isEnded { connection.becomeIdle() }
  }

  private init(_ channel: any Channel, _ upstream: HTTP1Upstream) {
    self.channel = channel
    self.upstream = upstream
    output = HTTP1Output(channel)
    parser = ResponseParser(configuration: upstream.configuration.http1)
  }

  // MARK: For the pool

  /// Nothing speaks against another exchange, as far as is known here.
  var isUsable: Bool { !isEnded && !isClosing && exchange == nil && channel.isActive && parser.isReusable }

  /// Goes to the pool, or to an exchange that waits.
  func becomeIdle() {
    wasUsable = true
    timer.set(channel.eventLoop.now + upstream.configuration.idleTimeout)
    gate.forget()
    resumeReading()
    upstream.connectionBecameIdle(self)
  }

  @discardableResult
  func close() -> EventLoopFuture<Void> {
    isClosing = true
    channel.close(promise: nil)
    return channel.closeFuture
  }

  // MARK: For the exchange

  func begin(_ exchange: HTTP1Exchange) {
    var fields = exchange.head.fields
    let isWebSocket = fields.withValue(of: .protocol) { FieldGrammar.equal($0, lowercased: "websocket") } ?? false
    handshake = isWebSocket ? WebSocketHandshake(asking: &fields) : nil
    var head = channel.allocator.buffer(capacity: 512)
    do {
      try encoder.writeHead(fields, options(for: exchange), into: &head)
    } catch {
      exchange.fail(BywayError(.invalidRequest, error.message, processing: .none))
      becomeIdle()
      return
    }
    self.exchange = exchange
    gate.begin(exchange.head.readAhead ?? upstream.readAhead)
    hasResponse = false
    isResponseComplete = false
    isBodyBounded = false
    tunnel = encoder.framing == .tunnel ? .requested : .none
    early = ByteBuffer()
    isFinishedEarly = false
    isRequestSent = exchange.head.isComplete || encoder.framing == .tunnel
    output.forgetCredit()
    parser.begin(exchange.kind)
    output.send(head, isLast: isRequestSent)
    watch()
  }

  func write(_ bytes: ByteBuffer) {
    if tunnel == .requested {
      early.writeImmutableBuffer(bytes)
      return
    }
    do {
      try output.sendContent(bytes, by: &encoder)
    } catch {
      fail(BywayError(.invalidRequest, error.message))
      return
    }
    credit()
  }

  func finish(trailers: FieldSection?) {
    switch tunnel {
    case .requested:
      isFinishedEarly = true
    case .open where handshake != nil:
      channel.flush()
      tunnel = .closing
      timer.set(channel.eventLoop.now + upstream.configuration.webSocketClosing)
    case .open:
      endOutput()
    case .none:
      finishRequest(trailers: trailers)
    case .closing:
      break
    }
  }

  private func endOutput() {
    channel.flush()
    channel.close(mode: .output, promise: nil)
  }

  /// The exchange wants nothing more; half a message cannot be taken back, so the connection ends.
  func abort() {
    exchange = nil
    gate.forget()
    close()
  }

  func didConsumeResponse(_ bytes: Int) {
    gate.consumed(bytes)
    resumeReading()
  }

  // MARK: ChannelDuplexHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    // Where it cannot be set the channel reads as it likes.
    try? context.channel.syncOptions?.setOption(.recvAllocator, value: reads)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    // The channel had ended before this came to it, and tells of that in no other way.
    fail(BywayError(.originLost, "\(upstream.dialer.name) closed the connection."))
  }

  func read(context: ChannelHandlerContext) {
    if gate.admitRead() { context.read() } else { watchBody() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard !isEnded else { return }
    parser.receive(unwrapInboundIn(data))
    pull()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { inputEnded() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    credit()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let name = upstream.dialer.name
    fail(error as? BywayError ?? BywayError(.originLost, "The connection to \(name) failed.", cause: error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    guard !isEnded else { return }
    inputEnded()
    fail(BywayError(.originLost, "\(upstream.dialer.name) closed the connection."))
  }

  // MARK: Requests

  private func options(for exchange: HTTP1Exchange) -> RequestEncoder.Options {
    let acceptsTrailers =
      exchange.head.fields.withValue(of: .te) { FieldGrammar.equal($0, lowercased: "trailers") } ?? false
    return RequestEncoder.Options(
      targetForm: upstream.configuration.isProxy ? .absolute : .origin, hasBody: !exchange.head.isComplete,
      acceptsTrailers: acceptsTrailers)
  }

  private func finishRequest(trailers: FieldSection?) {
    guard !isRequestSent else { return }
    var end = channel.allocator.buffer(capacity: 64)
    do {
      try encoder.writeEnd(trailers: trailers, into: &end)
    } catch {
      fail(BywayError(.invalidRequest, error.message))
      return
    }
    isRequestSent = true
    if end.readableBytes > 0 { output.send(end) }
    watch()
  }

  private func credit() {
    let bytes = output.takeCredit()
    if bytes > 0 { exchange?.didConsumeRequest(bytes) }
    if exchange != nil { watch() }
  }

  // MARK: Responses

  private func inputEnded() {
    parser.receiveEnd()
    pull()
    // A server that has nothing more to say cannot serve again.
    if exchange == nil { close() }
  }

  private func pull() {
    do {
      while let event = try parser.nextEvent() {
        guard let exchange else { return }
        handle(event, for: exchange)
      }
    } catch {
      violated(error)
    }
  }

  private func handle(_ event: consuming ResponseEvent, for exchange: HTTP1Exchange) {
    switch consume event {
    case .informational(let fields):
      exchange.informational(fields)
    case .head(let head):
      responded(head, to: exchange)
    case .upgraded(let head):
      openTunnel(head, for: exchange)
    case .body(let bytes):
      gate.received(bytes.readableBytes)
      watchBody()
      exchange.responseBody(bytes)
    case .end(let trailers):
      responseEnded(exchange, trailers: trailers)
    }
  }

  private func responded(_ head: consuming ResponseHead, to exchange: HTTP1Exchange) {
    if exchange.kind == .upgrade, (200..<300).contains(head.status) {
      // To a client over HTTP/2 this status would mean that the tunnel is open (RFC 8441 §5).
      let name = upstream.dialer.name
      fail(BywayError(.protocolViolation, "\(name) does not upgrade connections here: it answered \(head.status)."))
      return
    }
    hasResponse = true
    isResponseComplete = head.framing == .none || head.framing == .length(0)
    if case .length = head.framing { isBodyBounded = !isResponseComplete }
    watch()
    exchange.responseBegan(head.fields, isComplete: isResponseComplete)
  }

  private func responseEnded(_ exchange: HTTP1Exchange, trailers: FieldSection?) {
    let isTunnel = tunnel == .open || tunnel == .closing
    let isReusable = isRequestSent && parser.isReusable && !isTunnel && !isEnded
    self.exchange = nil
    gate.forget()
    exchange.responseEnded(trailers: trailers, wasComplete: isResponseComplete)
    if isReusable, !isEnded {
      isKept = true
      becomeIdle()
    } else if isTunnel {
      channel.closeOnceWritten(within: upstream.configuration.idleTimeout)
    } else {
      close()
    }
  }

  // MARK: Tunnels

  private func openTunnel(_ head: ResponseHead, for exchange: HTTP1Exchange) {
    var fields = head.fields
    if exchange.kind == .upgrade {
      let isWanted = exchange.head.fields.value(of: .protocol)?.lowercased() == head.upgrade
      guard isWanted, handshake?.verify(&fields) ?? true else {
        fail(BywayError(.protocolViolation, "\(upstream.dialer.name) confirmed an upgrade that was not asked for."))
        return
      }
      fields.set(.status, "200")
    }
    hasResponse = true
    watch()
    tunnel = .open
    exchange.responseBegan(fields, isComplete: false)
    if early.readableBytes > 0, self.exchange === exchange { write(early) }
    if isFinishedEarly, self.exchange === exchange { finish(trailers: nil) }
    early = ByteBuffer()
  }

  // MARK: Pacing and time

  private func resumeReading() {
    guard gate.releaseRead() else { return }
    watchBody()
    context?.read()
  }

  /// The server is waited for when it has the whole request, and while it does not take more of it: not while the client
  /// pauses.
  private func watch() {
    if tunnel == .closing { return }
    guard let exchange, !hasResponse else {
      timer.set(nil)
      watchBody()
      return
    }
    let isDue = isRequestSent || output.uncredited > 0
    let patience = isDue ? channel.eventLoop.now + upstream.configuration.responseTimeout : .distantFuture
    timer.set(min(patience, exchange.deadline ?? .distantFuture))
  }

  /// And for the next bytes of a body whose end is known: not while the client reads none.
  private func watchBody() {
    guard isBodyBounded, exchange != nil, let timeout = upstream.configuration.bodyTimeout else { return }
    timer.set(gate.isHeldBack ? nil : channel.eventLoop.now + timeout)
  }

  private func timedOut() {
    guard let exchange else {
      close()
      return
    }
    if tunnel == .closing { return endOutput() }
    if hasResponse {
      fail(BywayError(.incompleteResponse, "\(upstream.dialer.name) paused for too long in the middle of a response."))
      return
    }
    let (name, configuration) = (upstream.dialer.name, upstream.configuration)
    let isLate = exchange.deadline.map { $0 <= channel.eventLoop.now } ?? false
    fail(
      isLate
        ? .noResponse(from: name)
        : .noResponse(from: name, within: configuration.responseTimeout, configuration.responseOption))
  }

  // MARK: Failures

  private func violated(_ failure: HTTP1Failure) {
    let code: BywayError.Code =
      switch failure.code {
      case .incomplete(.beforeHead): .originLost
      case .incomplete: .incompleteResponse
      default: .protocolViolation
      }
    fail(BywayError(code, "\(upstream.dialer.name): \(failure.message)"))
  }

  /// Ends the connection, and its exchange with it.
  private func fail(_ error: BywayError) {
    guard !isEnded else { return }
    isEnded = true
    timer.cancel()
    gate.forget()
    let exchange = exchange.take()
    channel.close(promise: nil)
    upstream.connectionEnded(self, error, wasUsable: wasUsable)
    exchange?.fail(error, wasKept: isKept)
  }
}
