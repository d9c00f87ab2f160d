package import BywayHTTPWire
package import NIOCore

/// A connection from an HTTP/1.1 client (RFC 9112) as a state machine. It serves one exchange at a time, and pipelined requests
/// in order.
///
///     idle ⇄ inHead ──head──► exchanging ──both messages are whole──► idle, unread, or closing
///      │                                                                       │ the client has read on
///      └──its time is over, the client has ended──► closing ──► lingering ◄────┘ idle
///
/// Request content that was received and not consumed yet holds the channel's reads back (``ReadGate``). So does the next
/// request, while it waits for its turn.
package final class HTTP1ServerSession: ConnectionSession {
  package struct Timeouts: Sendable, Hashable {
    /// The limit for the next request to begin.
    package var idle = TimeAmount.seconds(75)
    /// The limit for the rest of a request's head.
    package var head = TimeAmount.seconds(30)
    /// The limit for the client to read on, if more requests wait behind responses that it does not read.
    package var unread = TimeAmount.minutes(5)
    /// The limit for the client to close, after the last response.
    package var linger = TimeAmount.seconds(2)
    /// The limit for a request in flight after requests are no longer accepted.
    package var lastCall = TimeAmount.seconds(1)
    /// The time without a response after the client has ended its direction. Then the client is probed repeatedly.
    package var probe = TimeAmount.seconds(1)
    package var probeAgain = TimeAmount.seconds(10)
    /// The least time from the head that opens the tunnel of a ``RequestKind/attach`` to the tunnel's first bytes.
    package var attach = TimeAmount.milliseconds(50)

    package init() {}
  }

  enum State {
    /// Between requests. No bytes of the next one have arrived.
    case idle(since: NIODeadline)
    case inHead(since: NIODeadline)
    case exchanging(Exchange)
    /// Between requests, while the client has not read the previous responses. No more responses are added to unread ones.
    case unread(since: NIODeadline)
    /// The last response is being written. Further input is dropped.
    case closing(until: NIODeadline)
    /// Our direction has ended.
    case lingering(until: NIODeadline)
    case ended
  }

  struct Exchange {
    enum Request {
      /// Parts of the request are still to come.
      case coming(hasContent: Bool)
      case whole
      /// Bytes are passed on until the client ends its direction.
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

  /// The first bytes of the tunnel of a ``RequestKind/attach``. Its client drops bytes that it reads together with the head: podman before
  /// version 5.7 does so.
  struct HeldOutput {
    let until: NIODeadline
    var bytes = ByteBuffer()
    var isFinished = false
  }

  /// The state of the client's direction.
  enum Input {
    case open
    /// The client has ended its direction. It may be gone, or may only have no more to send: see ``probeAt(_:)``.
    case ended(probeAt: NIODeadline)
  }

  /// The requests that are accepted.
  enum Acceptance {
    case all
    /// A single further request, which its client may have sent before it could know. No client would repeat it.
    case one(until: NIODeadline)
    case none
  }

  /// The number of bytes that may wait for the client before the next request is read.
  private static let unreadLimit = 16 * 1024

  let timeouts: Timeouts
  var parser: RequestParser
  private var encoder = ResponseEncoder()
  var output = OutputQueue()
  var gate = ReadGate()
  var held: HeldOutput?
  var state: State
  var pending: HTTP1ServerEvent?
  var input = Input.open
  private var hasServed = false
  private(set) var acceptance = Acceptance.all
  /// The time of the latest call.
  var now: NIODeadline
  package internal(set) var ending: ConnectionEnding?

  package init(configuration: HTTP1Configuration = .defaults, timeouts: Timeouts = Timeouts(), at now: NIODeadline) {
    self.timeouts = timeouts
    parser = RequestParser(configuration: configuration)
    state = .idle(since: now)
    self.now = now
  }

  /// The time since which the session only waits for its client; `nil` while it has work.
  package var idleSince: NIODeadline? {
    switch state {
    case .idle(let start), .inHead(let start): start
    case .exchanging, .unread, .closing, .lingering, .ended: nil
    }
  }

  /// Whether a request has begun and not ended.
  package var isExchanging: Bool {
    if case .exchanging = state { true } else { false }
  }

  /// The number of received bytes of a request that waits for its turn.
  package var bufferedBytes: Int { parser.bufferedBytes }

  /// The number of bytes that belong to no current exchange: the rest of previous responses, and the next request.
  package var unclaimedBytes: Int { (isExchanging ? 0 : output.byteCount) + parser.waitingBytes }

  // MARK: Calls by the owner

  /// Sends a 1xx response (RFC 9110 §15.2). Drops it if it cannot be written, or if the client does not read.
  package func informational(_ fields: FieldSection) {
    guard case .exchanging(let exchange) = state, case .awaited = exchange.response,
      output.byteCount < MessageLimits.waitingInformational
    else { return }
    try? output.append { buffer throws(HTTP1Failure) in
      try encoder.writeInformational(fields, exchange.context, into: &buffer)
    }
  }

  /// Sends the final head. `101`, or `2xx` to CONNECT, opens a tunnel once the request is complete.
  /// - Parameter upgrade: the new protocol, with status 101.
  /// - Parameter attaches: whether a success opens the tunnel of a ``RequestKind/attach``.
  /// - Throws: if the head cannot be written; another answer is due.
  package func respond(
    _ fields: FieldSection, isComplete: Bool, upgrade: String? = nil, attaches: Bool = false, at now: NIODeadline
  ) throws(HTTP1Failure) {
    guard case .exchanging(var exchange) = state, case .awaited = exchange.response else { return }
    self.now = now
    if !mayKeepAlive(exchange) { exchange.context.keepAlive = false }
    try output.append { buffer throws(HTTP1Failure) in
      try encoder.writeHead(
        fields, exchange.context, hasBody: !isComplete, upgrade: upgrade, attaches: attaches, into: &buffer)
    }
    exchange.response = isComplete ? .ended : encoder.framing == .tunnel ? .tunnel : .begun
    if attaches, !isComplete { held = HeldOutput(until: now + timeouts.attach) }
    proceed(exchange)
  }

  /// Sends a piece of the response's content, or bytes of a tunnel.
  /// - Throws: if it is longer than the head declared; the response cannot be completed.
  package func write(_ bytes: ByteBuffer) throws(HTTP1Failure) {
    guard case .exchanging(let exchange) = state else { return }
    switch exchange.response {
    case .tunnel where held != nil:
      held?.bytes.writeImmutableBuffer(bytes)
    case .begun, .tunnel:
      // A response to HEAD has no content, even if its handler writes some.
      if encoder.framing == .none {
        output.drop(content: bytes)
      } else {
        try output.append(content: bytes, by: &encoder)
      }
    case .awaited, .ended: break
    }
  }

  /// Ends the response.
  /// - Throws: if content is missing; the response cannot be completed.
  package func finish(trailers: FieldSection?, at now: NIODeadline) throws(HTTP1Failure) {
    guard case .exchanging(var exchange) = state else { return }
    self.now = now
    switch exchange.response {
    case .begun:
      try output.append { buffer throws(HTTP1Failure) in try encoder.writeEnd(trailers: trailers, into: &buffer) }
      exchange.response = .ended
    case .tunnel where held != nil:
      held?.isFinished = true
      return
    case .tunnel: exchange.response = .ended
    case .awaited, .ended: return
    }
    proceed(exchange)
  }

  /// Sends the first bytes of a tunnel, which have waited.
  func sendHeld(_ exchange: Exchange) {
    guard let held = held.take() else { return }
    var exchange = exchange
    // A tunnel's content has no framing that it could break.
    try? output.append(content: held.bytes, by: &encoder)
    if held.isFinished { exchange.response = .ended }
    proceed(exchange)
  }

  /// Ends the connection during a response. An incomplete response must not look complete.
  package func cutShort() {
    end(.abort(byReset: encoder.framing == .untilClose || encoder.framing == .tunnel))
  }

  /// Credits content that the reader of the request has processed.
  package func consume(_ bytes: Int) {
    if isExchanging { gate.consumed(bytes) }
  }

  /// Accepts no more requests. The current one may finish.
  package func drain(at now: NIODeadline) {
    self.now = now
    guard case .all = acceptance else { return }
    acceptance = .none
    switch state {
    // Clients expect a close between requests, and must retry then (RFC 9112 §9.3.1), but not before the first request.
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
      // For a requested tunnel, the client's direction starts where other requests end.
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

  /// Refuses the request. Further bytes are not read as a request.
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

  /// Whether another request may follow. It may not if the rest of this one would have to be read and dropped. It may not follow
  /// a refused CONNECT or upgrade either, because the client's next bytes may be the tunnel's. A WebSocket client sends none
  /// before the answer, and one that attaches may take any success for a tunnel.
  private func mayKeepAlive(_ exchange: Exchange) -> Bool {
    if case .coming(hasContent: true) = exchange.request { return false }
    switch exchange.context.request {
    case .connect, .upgrade, .attach: return false
    case .ordinary, .head, .webSocket: return !isDraining
    }
  }

  /// Updates the exchange after one of its messages has advanced.
  private func proceed(_ exchange: consuming Exchange) {
    var exchange = exchange
    switch (exchange.request, exchange.response) {
    case (.whole, .tunnel):
      // From now on the client's bytes belong to the tunnel.
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
    gate.end()
    output.stopCountingContent()
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

  /// Whether the next request waits for its turn, so that no more of it needs to be read.
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
