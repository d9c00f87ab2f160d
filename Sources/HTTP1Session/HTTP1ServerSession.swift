package import HTTPWire
package import NIOCore

/// A connection from an HTTP/1.1 client (RFC 9112) as a state machine: one exchange at a time, pipelined requests in their
/// order.
///
///     idle ⇄ inHead ──head──► exchanging ──both messages are whole──► idle, unread, or closing
///      │                                                                       │ the client has read on
///      └──its time is over, the client has ended──► closing ──► lingering ◄────┘ idle
///
/// What came of a request's content and was not consumed yet holds the channel's reads back (``ReadGate``); so does the next
/// request, which waits for its turn.
package final class HTTP1ServerSession: ConnectionSession {
  package struct Timeouts: Sendable, Hashable {
    /// For the next request.
    package var idle = TimeAmount.seconds(75)
    /// For the rest of a request's head.
    package var head = TimeAmount.seconds(30)
    /// For the client to read on, where more requests wait behind responses that it does not take.
    package var unread = TimeAmount.minutes(5)
    /// For the client to close, after the last response.
    package var linger = TimeAmount.seconds(2)
    /// For a request that is on its way when no more are accepted.
    package var lastCall = TimeAmount.seconds(1)
    /// For a response to begin once the client has ended its direction; then it is asked, again and again, whether it is still there.
    package var probe = TimeAmount.seconds(1)
    package var probeAgain = TimeAmount.seconds(10)

    package init() {}
  }

  enum State {
    /// Between requests; nothing of the next has come.
    case idle(since: NIODeadline)
    case inHead(since: NIODeadline)
    case exchanging(Exchange)
    /// Between requests, and the client has yet to take what was written: responses that nobody reads are not added to.
    case unread(since: NIODeadline)
    /// The last response is being written; what still comes is dropped.
    case closing(until: NIODeadline)
    /// Our direction has ended.
    case lingering(until: NIODeadline)
    case ended
  }

  struct Exchange {
    enum Request {
      /// Parts of it are still to come.
      case coming(hasContent: Bool)
      case whole
      /// Bytes, until the client ends its direction.
      case tunnel
      case tunnelEnded
    }

    enum Response {
      case awaited
      case begun
      case tunnel
      case ended
    }

    var context: ResponseEncoder.Context
    var request: Request
    var response = Response.awaited
  }

  /// The client's direction.
  enum Input {
    case open
    /// Which looks the same when the client has gone and when it only has no more to say: see ``isProbed``.
    case ended(probeAt: NIODeadline)
  }

  /// Which requests are served.
  enum Acceptance {
    case all
    /// One more, that its client sent before it could know: nobody would send it again.
    case one(until: NIODeadline)
    case none
  }

  /// So many bytes may wait for the client before the next request is read.
  private static let unreadLimit = 16 * 1024

  let timeouts: Timeouts
  var parser: RequestParser
  private var encoder = ResponseEncoder()
  var output = OutputQueue()
  var gate = ReadGate()
  var state: State
  var pending: HTTP1ServerEvent?
  var input = Input.open
  private var hasServed = false
  private(set) var acceptance = Acceptance.all
  /// As it was told last.
  var now: NIODeadline
  package internal(set) var ending: ConnectionEnding?

  package init(configuration: HTTP1Configuration = .defaults, timeouts: Timeouts = Timeouts(), at now: NIODeadline) {
    self.timeouts = timeouts
    parser = RequestParser(configuration: configuration)
    state = .idle(since: now)
    self.now = now
  }

  /// Since when it does nothing but wait for its client; `nil` while it has something to do.
  package var idleSince: NIODeadline? {
    switch state {
    case .idle(let start), .inHead(let start): start
    case .exchanging, .unread, .closing, .lingering, .ended: nil
    }
  }

  /// A request has begun and not ended.
  package var isExchanging: Bool {
    if case .exchanging = state { true } else { false }
  }

  /// Bytes that came and were not given out: of a request that waits for its turn.
  package var bufferedBytes: Int { parser.bufferedBytes }

  // MARK: What the owner asks for

  /// Sends a 1xx response (RFC 9110 §15.2). One that cannot be written, and one for a client that does not read, is left out.
  package func informational(_ fields: FieldSection) {
    guard case .exchanging(let exchange) = state, case .awaited = exchange.response,
      output.byteCount < MessageLimits.waitingInformational
    else { return }
    try? output.append { buffer throws(HTTP1Failure) in
      try encoder.writeInformational(fields, exchange.context, into: &buffer)
    }
  }

  /// The final head; `101`, or `2xx` to CONNECT, opens a tunnel once the request is whole.
  /// - Parameter upgrade: with 101, the protocol switched to.
  /// - Throws: where it cannot be written; another answer is due.
  package func respond(
    _ fields: FieldSection, isComplete: Bool, upgrade: String? = nil, at now: NIODeadline
  ) throws(HTTP1Failure) {
    guard case .exchanging(var exchange) = state, case .awaited = exchange.response else { return }
    self.now = now
    if !mayKeepAlive(exchange) { exchange.context.keepAlive = false }
    try output.append { buffer throws(HTTP1Failure) in
      try encoder.writeHead(fields, exchange.context, hasBody: !isComplete, upgrade: upgrade, into: &buffer)
    }
    exchange.response = isComplete ? .ended : encoder.framing == .tunnel ? .tunnel : .begun
    proceed(exchange)
  }

  /// Sends a piece of the response's content, or of what a tunnel carries.
  /// - Throws: where it is more than the head declared; the response cannot be completed.
  package func write(_ bytes: ByteBuffer) throws(HTTP1Failure) {
    guard case .exchanging(let exchange) = state else { return }
    switch exchange.response {
    case .begun, .tunnel:
      // A response to HEAD has no content, whatever its handler writes.
      if encoder.framing == .none {
        output.drop(content: bytes)
      } else {
        try output.append(content: bytes, by: &encoder)
      }
    case .awaited, .ended: break
    }
  }

  /// Ends the response.
  /// - Throws: where content is missing; the response cannot be completed.
  package func finish(trailers: FieldSection?, at now: NIODeadline) throws(HTTP1Failure) {
    guard case .exchanging(var exchange) = state else { return }
    self.now = now
    switch exchange.response {
    case .begun:
      try output.append { buffer throws(HTTP1Failure) in try encoder.writeEnd(trailers: trailers, into: &buffer) }
      exchange.response = .ended
    case .tunnel: exchange.response = .ended
    case .awaited, .ended: return
    }
    proceed(exchange)
  }

  /// Ends the connection in the middle of a response. One that is cut short must not look like a whole one.
  package func cutShort() {
    end(.abort(byReset: encoder.framing == .untilClose || encoder.framing == .tunnel))
  }

  /// The reader of the request has dealt with that many bytes of its content.
  package func consume(_ bytes: Int) {
    if isExchanging { gate.consumed(bytes) }
  }

  /// Accepts no more requests; the one that runs may end.
  package func drain(at now: NIODeadline) {
    self.now = now
    guard case .all = acceptance else { return }
    acceptance = .none
    switch state {
    // Between requests clients expect an end, and have to try again (RFC 9112 §9.3.1). In front of the first they do not.
    case .idle where hasServed: close()
    case .idle, .inHead: acceptance = .one(until: now + timeouts.lastCall)
    case .unread: close()
    case .exchanging, .closing, .lingering, .ended: break
    }
  }

  private var isDraining: Bool {
    if case .all = acceptance { false } else { true }
  }

  // MARK: Input

  package func receive(_ bytes: consuming ByteBuffer, at now: NIODeadline) {
    self.now = now
    switch state {
    case .closing, .lingering, .ended: break
    case .idle, .inHead, .exchanging, .unread: parser.receive(bytes)
    }
  }

  package func receiveEnd(at now: NIODeadline) {
    self.now = now
    if !isInputEnded { input = .ended(probeAt: now + timeouts.probe) }
    switch state {
    case .closing: ending = .close(within: timeouts.unread)
    case .lingering: end(.abort(byReset: false))
    case .idle, .inHead, .exchanging, .unread, .ended: parser.receiveEnd()
    }
  }

  var isInputEnded: Bool {
    if case .ended = input { true } else { false }
  }

  package func nextEvent() -> HTTP1ServerEvent? {
    if let event = pending.take() { return event }
    if isExchanging {
      let credit = output.takeCredit()
      if credit > 0 { return .drained(bytes: credit) }
    }
    do {
      while mayPull {
        guard let event = try parser.nextEvent() else { break }
        if let event = handle(event) { return event }
        if let event = pending.take() { return event }
      }
    } catch {
      return violated(error)
    }
    settle()
    return nil
  }

  private var mayPull: Bool {
    switch state {
    case .idle, .inHead: true
    case .exchanging(let exchange):
      switch exchange.request {
      case .coming, .tunnel: true
      case .whole, .tunnelEnded: false
      }
    case .unread, .closing, .lingering, .ended: false
    }
  }

  private func handle(_ event: consuming RequestEvent) -> HTTP1ServerEvent? {
    switch consume event {
    case .head(let head):
      gate.begin()
      hasServed = true
      let hasContent = head.framing != .none && head.framing != .length(0)
      state = .exchanging(
        Exchange(context: ResponseEncoder.Context(head), request: .coming(hasContent: hasContent)))
      return .head(head)
    case .body(let bytes):
      gate.received(bytes.readableBytes)
      return .content(bytes)
    case .end(let trailers):
      guard case .exchanging(var exchange) = state else { return nil }
      let wasComing = if case .coming = exchange.request { true } else { false }
      exchange.request = wasComing ? .whole : .tunnelEnded
      let asksForTunnel = exchange.context.request.asksForTunnel
      proceed(exchange)
      // Of a tunnel that is asked for, the client's direction begins where others end.
      return wasComing && asksForTunnel ? nil : .end(trailers: trailers)
    }
  }

  private func violated(_ failure: HTTP1Failure) -> HTTP1ServerEvent? {
    if case .incomplete(.beforeHead) = failure.code {
      close()
      return nil
    }
    return refuse(failure)
  }

  /// What still comes is not read as a request any more.
  func refuse(_ failure: HTTP1Failure) -> HTTP1ServerEvent? {
    var exchange = Exchange(context: ResponseEncoder.Context(keepAlive: false), request: .whole)
    if case .exchanging(let current) = state {
      exchange = current
      exchange.context.keepAlive = false
      exchange.request = .whole
    }
    state = .exchanging(exchange)
    if case .ended = exchange.response {
      close()
      return .closed
    }
    return .refused(failure)
  }

  // MARK: Exchanges

  /// Decides whether another request may follow. It may not if the rest of this one would have to be read and dropped, and not
  /// after a CONNECT or an upgrade that was refused: the client's next bytes may be the tunnel's. The client of a WebSocket sends
  /// none before the answer.
  private func mayKeepAlive(_ exchange: Exchange) -> Bool {
    if case .coming(hasContent: true) = exchange.request { return false }
    switch exchange.context.request {
    case .connect, .upgrade: return false
    case .ordinary, .head, .webSocket: return !isDraining
    }
  }

  /// Either message has come further.
  private func proceed(_ exchange: consuming Exchange) {
    var exchange = exchange
    switch (exchange.request, exchange.response) {
    case (.whole, .tunnel):
      // From here on the client's bytes are the tunnel's.
      exchange.request = .tunnel
      parser.becomeTunnel()
      state = .exchanging(exchange)
    case (_, .ended) where !encoder.keepAlive:
      close()
      pending = .closed
    case (.whole, .ended):
      ended()
    default:
      state = .exchanging(exchange)
    }
  }

  private func ended() {
    pending = .closed
    gate.forget()
    output.forgetContent()
    if isDraining {
      close()
    } else {
      state = output.byteCount > Self.unreadLimit ? .unread(since: now) : .idle(since: now)
    }
  }

  // MARK: Output

  package var wantsTransmit: Bool { !output.isEmpty }

  package func nextTransmit(maximum: Int, at now: NIODeadline) -> ByteBuffer? {
    self.now = now
    guard let bytes = output.next(maximum: maximum) else { return nil }
    if case .unread = state, output.byteCount <= Self.unreadLimit { state = .idle(since: now) }
    return bytes
  }

  package func outputEnded(at now: NIODeadline) {
    guard case .closing = state else { return }
    self.now = now
    if isInputEnded { end(.abort(byReset: false)) } else { state = .lingering(until: now + timeouts.linger) }
  }

  // MARK: Pacing

  /// The next request waits for its turn: what has come of it is enough.
  private var isNextWaiting: Bool {
    switch state {
    case .exchanging, .unread: !mayPull && parser.bufferedBytes > 0
    case .idle, .inHead, .closing, .lingering, .ended: false
    }
  }

  package func admitRead() -> Bool { gate.admitRead(hasEnough: isNextWaiting) }
  package func releaseRead(at now: NIODeadline) -> Bool { gate.releaseRead(hasEnough: isNextWaiting) }
  package var readRoom: Int { .max }
}
