import Glibc
import HTTP1Session
import HTTPWire
package import NIOCore

/// The serving end of an HTTP/1.1 connection: one exchange at a time, pipelined requests in their order.
///
/// Reads and keeps time; ``HTTP1ServerExchange`` writes. Lives on its channel's event loop.
package final class HTTP1ServerConnection: ChannelDuplexHandler, ServedConnection {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private enum Phase {
    /// Between requests, or within the head of one.
    case waiting
    case exchanging(HTTP1ServerExchange)
    /// Between requests, and the client has yet to take what was written: responses that nobody reads are not added to.
    case unread
    /// The last response has been written; what still comes in is dropped.
    case closing
    case ended
  }

  let channel: any Channel
  let output: HTTP1Output
  let configuration: ServerConfiguration
  /// The line that each request from here gets.
  let via: String
  private let handler: any ExchangeHandler
  private var context: ChannelHandlerContext?
  private var parser: RequestParser
  private var phase = Phase.waiting
  private var isInHead = false
  private var waitingSince = NIODeadline.now()
  private var isInputEnded = false
  private var isOutputEnded = false
  private(set) var isDraining = false
  private var isPulling = false
  private var gate = ReadGate()
  let readAhead = ReadAhead()
  private lazy var timer = LazyTimer(on: channel.eventLoop) { [unowned self] in timedOut() }

  /// Puts the connection on a channel, and turns reading on.
  @discardableResult
  package static func start(
    on channel: any Channel, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) throws -> HTTP1ServerConnection {
    let connection = HTTP1ServerConnection(channel, handler, configuration)
    try channel.pipeline.syncOperations.addHandler(connection)
    channel.startReading()
    return connection
  }

  private init(_ channel: any Channel, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration) {
    self.channel = channel
    output = HTTP1Output(channel)
    self.handler = handler
    self.configuration = configuration
    via = "1.1 \(configuration.hop)"
    parser = RequestParser(configuration: configuration.http1)
  }

  // MARK: ServedConnection

  package var runningExchanges: Int {
    if case .exchanging = phase { 1 } else { 0 }
  }

  /// Of a request that waits for its turn.
  package var bufferedBytes: Int { parser.bufferedBytes }

  package var idleSince: NIODeadline? {
    if case .waiting = phase { waitingSince } else { nil }
  }

  package func giveUpPlace() {
    channel.close(promise: nil)
  }

  package func drain() {
    isDraining = true
    switch phase {
    case .waiting, .unread: closeGracefully()
    case .exchanging, .closing, .ended: break
    }
  }

  // MARK: For the exchange

  func didConsumeRequest(_ bytes: Int, by exchange: HTTP1ServerExchange) {
    guard isCurrent(exchange) else { return }
    gate.consumed(bytes)
    resumeReading()
  }

  /// From here on the client's bytes are the tunnel's.
  func becomeTunnel() {
    parser.becomeTunnel()
    pull()
  }

  /// Both messages are through, or the response is and nobody reads the rest of the request.
  func ended(_ exchange: HTTP1ServerExchange, keepAlive: Bool) {
    guard isCurrent(exchange) else { return }
    gate.forget()
    output.forgetCredit()
    guard keepAlive, !isDraining else {
      closeGracefully()
      return
    }
    phase = channel.isWritable ? .waiting : .unread
    if case .unread = phase { timer.set(.now() + configuration.timeouts.unread) }
    pull()
  }

  /// Ends the connection in the middle of a response.
  /// - Parameter byReset: where an orderly close would look like the end of the body.
  func abort(byReset: Bool) {
    guard let context else { return }
    channel.flush()
    // SO_LINGER with a time of zero makes the close a reset (RFC 9293 §3.10.4).
    if byReset { _ = (channel as? any SocketOptionProvider)?.setSoLinger(linger(l_onoff: 1, l_linger: 0)) }
    context.close(promise: nil)
  }

  // MARK: ChannelDuplexHandler

  package func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    watch()
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    end()
    self.context = nil
  }

  package func read(context: ChannelHandlerContext) {
    if gate.admitRead(hasEnough: isNextWaiting) { context.read() }
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch phase {
    case .closing, .ended: return
    case .waiting, .exchanging, .unread: break
    }
    parser.receive(unwrapInboundIn(data))
    pull()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if let event = event as? ChannelEvent, event == .inputClosed { inputEnded() }
    context.fireUserInboundEventTriggered(event)
  }

  package func channelWritabilityChanged(context: ChannelHandlerContext) {
    switch phase {
    case .exchanging(let exchange):
      exchange.credit()
    case .unread where channel.isWritable:
      timer.set(nil)
      phase = .waiting
      pull()
    case .waiting, .unread, .closing, .ended:
      break
    }
    context.fireChannelWritabilityChanged()
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    configuration.logger.debug("Connection failed", metadata: ["reason": "\(error)"])
    context.close(promise: nil)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    end()
    context.fireChannelInactive()
  }

  // MARK: Requests

  private func pull() {
    // An exchange that is answered at once comes back here: one loop serves them all, however many are pipelined.
    guard !isPulling else { return }
    isPulling = true
    do {
      while mayPull, let event = try parser.nextEvent() { handle(event) }
    } catch {
      violated(error)
    }
    isPulling = false
    if case .waiting = phase {
      if isInputEnded { closeGracefully() } else { watch() }
    }
    resumeReading()
  }

  private var mayPull: Bool {
    switch phase {
    case .waiting: true
    case .exchanging(let exchange): exchange.expectsInput
    case .unread, .closing, .ended: false
    }
  }

  private func handle(_ event: RequestEvent) {
    switch (event, phase) {
    case (.head(let head), .waiting):
      timer.set(nil)
      isInHead = false
      let exchange = HTTP1ServerExchange(head, on: self)
      phase = .exchanging(exchange)
      exchange.begin(head, with: handler)
    case (.body(let bytes), .exchanging(let exchange)):
      if exchange.receive(bytes) { gate.received(bytes.readableBytes) }
    case (.end(let trailers), .exchanging(let exchange)):
      exchange.requestEnded(trailers: trailers)
    default:
      break
    }
  }

  private func inputEnded() {
    isInputEnded = true
    parser.receiveEnd()
    if isOutputEnded { channel.close(promise: nil) } else { pull() }
  }

  /// What came is not HTTP/1.1: the answer says why, and nothing more is read.
  private func violated(_ failure: HTTP1Failure) {
    configuration.logger.debug("Request refused", metadata: ["reason": "\(failure)"])
    let code: BywayError.Code = failure.code == .tooLarge ? .tooLarge : .invalidRequest
    let error = BywayError(code, failure.message, processing: .none)
    if case .incomplete(.beforeHead) = failure.code { closeGracefully() } else { refuse(error, status: failure.status) }
  }

  private func refuse(_ error: BywayError, status: Int) {
    let exchange: HTTP1ServerExchange
    if case .exchanging(let current) = phase {
      exchange = current
    } else {
      exchange = HTTP1ServerExchange(on: self)
      phase = .exchanging(exchange)
    }
    exchange.refuse(error, status: status)
  }

  private func isCurrent(_ exchange: HTTP1ServerExchange) -> Bool {
    if case .exchanging(let current) = phase { current === exchange } else { false }
  }

  // MARK: Pacing

  /// The next request waits for its turn: what has come of it is enough.
  private var isNextWaiting: Bool {
    switch phase {
    case .exchanging, .unread: !mayPull && parser.bufferedBytes > 0
    case .waiting, .closing, .ended: false
    }
  }

  private func resumeReading() {
    if gate.releaseRead(hasEnough: isNextWaiting) { context?.read() }
  }

  // MARK: Time

  /// Between requests and within a head the client is waited for. A body may pause as long as its sender likes: streams
  /// do.
  private func watch() {
    if parser.isIdle {
      isInHead = false
      waitingSince = .now()
      timer.set(waitingSince + configuration.timeouts.idle)
    } else if !isInHead {
      isInHead = true
      waitingSince = .now()
      timer.set(waitingSince + configuration.timeouts.head)
    }
  }

  private func timedOut() {
    switch phase {
    case .waiting where isInHead:
      refuse(
        BywayError(.invalidRequest, "The request's head did not arrive in time.", processing: .none), status: 408)
    case .waiting:
      closeGracefully()
    case .unread, .closing:
      channel.close(promise: nil)
    case .exchanging, .ended:
      break
    }
  }

  // MARK: Ending

  /// Ends the sending direction once everything is written, and waits a moment for the client to end its own: closing on
  /// bytes that nobody has read would be a reset, which may overtake the response (RFC 9112 §9.6).
  private func closeGracefully() {
    guard context != nil else { return }
    phase = .closing
    timer.set(.now() + configuration.timeouts.unread)
    channel.writeAndFlush(ByteBuffer()).assumeIsolated().whenComplete { [self] _ in
      guard case .closing = phase else { return }
      if isInputEnded {
        channel.close(promise: nil)
      } else {
        isOutputEnded = true
        channel.close(mode: .output, promise: nil)
        timer.set(.now() + configuration.timeouts.linger)
      }
    }
    resumeReading()
  }

  private func end() {
    if case .exchanging(let exchange) = phase {
      phase = .ended
      exchange.connectionEnded()
    }
    phase = .ended
    timer.cancel()
  }
}
