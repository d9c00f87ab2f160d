package import BywayHTTPWire
package import NIOCore

/// A connection to an HTTP/1.1 server (RFC 9112) as a state machine. It serves one exchange at a time, as long as both ends
/// keep it open.
///
///     idle ──begin──► exchanging ──the response is whole──► idle, or ended
///      │                  └──101, 2xx that opens──► tunnel ──both directions are over──► ended
///      └──its time is over, the server closes──► ended
///
/// Response content that was received and not consumed yet holds the channel's reads back (``ReadGate``).
package final class HTTP1ClientSession: ConnectionSession {
  package struct Configuration: Sendable, Hashable {
    package var http1 = HTTP1Configuration.defaults
    /// The form of the request targets: absolute if the next hop is a proxy.
    package var targetForm = TargetForm.origin
    /// The time after which an unused connection is closed. In a tunnel, bytes that the server has not accepted by then are
    /// dropped.
    package var idleTimeout = TimeAmount.seconds(50)
    /// The time for which the server may accept none of a request's pending content.
    package var stallTimeout = TimeAmount.seconds(60)
    /// The limit of silence within content of declared length; `nil`: no limit.
    package var bodyTimeout: TimeAmount?
    /// The time from the end of the client's direction of a WebSocket until the server is informed.
    package var webSocketClosing = TimeAmount.seconds(10)
    /// Whether field names are written as `X-Serial` instead of `x-serial`.
    package var capitalizesFieldNames = false

    package init() {}
  }

  private enum State {
    case idle(since: NIODeadline)
    case exchanging(Exchange)
    case tunnel(TunnelState)
    case ended
  }

  private struct Exchange {
    enum Request {
      case sending
      case sent
      /// An upgrade is requested, and this many bytes of the request's content are still to come. The tunnel's bytes follow
      /// them.
      case preceding(remaining: Int)
      /// A tunnel is requested, and the client's bytes wait for it.
      case held(isFinished: Bool)

      /// Whether nothing of the request remains to be sent. If a tunnel was refused, only the request itself was sent.
      var isSent: Bool {
        switch self {
        case .sent, .held: true
        case .sending, .preceding: false
        }
      }
    }

    enum Response {
      case awaited
      case content(hasLength: Bool)
    }

    let kind: RequestKind
    /// Whether, over HTTP/2, a success other than 101 can be distinguished from an open tunnel.
    let mayDecline: Bool
    var request: Request
    var response = Response.awaited
  }

  private enum TunnelState {
    case open(RequestKind)
    /// The client has ended its direction of a WebSocket. The server is informed at that time.
    case closing(at: NIODeadline)
    case outputEnded
  }

  private let configuration: Configuration
  private var parser: ResponseParser
  private var encoder: RequestEncoder
  private var output = OutputQueue()
  private var gate = ReadGate()
  /// The client's bytes before its tunnel is open. They are limited by its window, because none of them are credited.
  private var early = ByteBuffer()
  private var state: State
  /// The time at which bytes were last received, or queued bytes were last sent.
  private var lastProgress: NIODeadline
  private var failure: HTTP1ClientFailure?
  package private(set) var ending: ConnectionEnding?

  package init(configuration: Configuration = Configuration(), at now: NIODeadline) {
    self.configuration = configuration
    encoder = RequestEncoder(capitalizesFieldNames: configuration.capitalizesFieldNames)
    parser = ResponseParser(configuration: configuration.http1)
    state = .idle(since: now)
    lastProgress = now
  }

  /// Whether another exchange may start, as far as this end knows.
  package var isReusable: Bool {
    if case .idle = state { parser.isReusable } else { false }
  }

  private var isEnded: Bool {
    if case .ended = state { true } else { false }
  }

  // MARK: Calls by the owner

  /// Begins an exchange. Only if the connection ``isReusable``.
  /// - Parameter isComplete: whether the request ends with its head.
  /// - Parameter readAhead: the budget for response bytes ahead of the reader; `nil`: the default.
  /// - Throws: if the request cannot be written; the connection is unchanged.
  package func begin(
    _ fields: FieldSection, isComplete: Bool, readAhead: ReadAhead?, at now: NIODeadline
  ) throws(HTTP1Failure) {
    let kind = RequestKind(fields)
    let acceptsTrailers = fields.withValue(of: .te) { FieldGrammar.equal($0, lowercased: "trailers") } ?? false
    let options = RequestEncoder.Options(
      targetForm: configuration.targetForm, hasBody: !isComplete, acceptsTrailers: acceptsTrailers)
    try output.append { buffer throws(HTTP1Failure) in try encoder.writeHead(fields, options, into: &buffer) }
    parser.begin(kind, mayAttach: kind == .upgrade && fields.asksForTCP)
    gate.begin(readAhead)
    lastProgress = now
    let request: Exchange.Request =
      switch encoder.framing {
      case .tunnel: .held(isFinished: isComplete)
      case .length(let length) where kind.asksForUpgrade && !isComplete: .preceding(remaining: length)
      default: isComplete ? .sent : .sending
      }
    state = .exchanging(Exchange(kind: kind, mayDecline: fields.contains(.upgradeMethod), request: request))
  }

  /// Sends a piece of the request's content, or bytes of a tunnel.
  package func write(_ bytes: ByteBuffer, at now: NIODeadline) {
    switch state {
    case .exchanging(let exchange):
      switch exchange.request {
      case .sending: send(bytes, at: now)
      case .preceding(let remaining): precede(bytes, exchange, remaining: remaining, at: now)
      case .held: early.writeImmutableBuffer(bytes)
      case .sent: break
      }
    case .tunnel(.open):
      send(bytes, at: now)
    case .idle, .tunnel(.closing), .tunnel(.outputEnded), .ended:
      break
    }
  }

  /// Ends the request's content, or the client's direction of a tunnel.
  package func finish(trailers: FieldSection?, at now: NIODeadline) {
    switch state {
    case .exchanging(var exchange):
      switch exchange.request {
      case .sending, .preceding:
        if output.isEmpty { lastProgress = now }
        do {
          try output.append { buffer throws(HTTP1Failure) in try encoder.writeEnd(trailers: trailers, into: &buffer) }
          exchange.request = .sent
          state = .exchanging(exchange)
        } catch {
          fail(.request(error))
        }
      case .held:
        exchange.request = .held(isFinished: true)
        state = .exchanging(exchange)
      case .sent:
        break
      }
    case .tunnel(.open(let kind)):
      finishTunnel(kind, at: now)
    case .idle, .tunnel(.closing), .tunnel(.outputEnded), .ended:
      break
    }
  }

  /// Credits content that the reader of the response has processed.
  package func consume(_ bytes: Int) {
    gate.consumed(bytes)
  }

  /// Cancels the exchange. The connection ends, because a partly sent message cannot be withdrawn.
  package func cancel() {
    end(.abort(byReset: false))
  }

  /// Ends the connection with a failure. Its received bytes must not be used.
  package func fail(_ failure: HTTP1ClientFailure) {
    guard !isEnded else { return }
    self.failure = failure
    end(.abort(byReset: false))
  }

  // MARK: Input

  package func receive(_ bytes: consuming ByteBuffer, at now: NIODeadline) {
    guard !isEnded else { return }
    lastProgress = now
    parser.receive(bytes)
  }

  package func receiveEnd(at now: NIODeadline) {
    guard !isEnded else { return }
    lastProgress = now
    parser.receiveEnd()
    // A server that has ended its direction cannot serve another request.
    if case .idle = state { end(.abort(byReset: false)) }
  }

  package func nextEvent() -> HTTP1ClientEvent? {
    if let failure = failure.take() { return .failed(failure) }
    let credit = output.takeCredit()
    if credit > 0 { return .drained(bytes: credit) }
    do {
      while !isEnded, let event = try parser.nextEvent() {
        if let event = try handle(event) { return event }
      }
    } catch {
      if case .idle = state { end(.abort(byReset: false)) } else { fail(.response(error)) }
    }
    return failure.take().map { .failed($0) }
  }

  private func handle(_ event: consuming ResponseEvent) throws(HTTP1Failure) -> HTTP1ClientEvent? {
    switch consume event {
    case .informational(let fields):
      return .informational(fields)
    case .head(let head):
      return try responded(head)
    case .upgraded(let head):
      return upgraded(head)
    case .body(let bytes):
      gate.received(bytes.readableBytes)
      return .data(bytes)
    case .end(let trailers):
      responseEnded()
      return .end(trailers: trailers)
    }
  }

  private func responded(_ head: consuming ResponseHead) throws(HTTP1Failure) -> HTTP1ClientEvent? {
    guard case .exchanging(var exchange) = state else { return nil }
    if exchange.kind.asksForUpgrade, !exchange.mayDecline, (200..<300).contains(head.status) {
      fail(.notUpgraded(status: head.status))
      return nil
    }
    let isComplete = head.framing == .none || head.framing == .length(0)
    if isComplete {
      // The end needs no more bytes, and the connection may be reused before its reader asks for events.
      _ = try parser.nextEvent()
      responseEnded()
    } else {
      exchange.response = .content(hasLength: { if case .length = head.framing { true } else { false } }())
      state = .exchanging(exchange)
    }
    return .head(head.fields, isComplete: isComplete)
  }

  private func responseEnded() {
    switch state {
    case .exchanging(let exchange):
      // If a tunnel was refused, only the request itself was sent.
      guard exchange.request.isSent, parser.isReusable else { return end(.abort(byReset: false)) }
      gate.end()
      output.stopCountingContent()
      if early.readableBytes > 0 { early = ByteBuffer() }
      state = .idle(since: lastProgress)
    case .tunnel:
      end(.close(within: configuration.idleTimeout))
    case .idle, .ended:
      break
    }
  }

  // MARK: Tunnels

  /// Sends the content that precedes a tunnel, and keeps the bytes that follow it.
  private func precede(_ bytes: ByteBuffer, _ exchange: Exchange, remaining: Int, at now: NIODeadline) {
    var exchange = exchange
    var bytes = bytes
    if let content = bytes.readSlice(length: min(remaining, bytes.readableBytes)) {
      let left = remaining - content.readableBytes
      exchange.request = left == 0 ? .held(isFinished: false) : .preceding(remaining: left)
      state = .exchanging(exchange)
      send(content, at: now)
    }
    if bytes.readableBytes > 0 { early.writeImmutableBuffer(bytes) }
  }

  private func upgraded(_ head: ResponseHead) -> HTTP1ClientEvent? {
    guard case .exchanging(let exchange) = state else { return nil }
    let isFinished: Bool
    switch exchange.request {
    case .held(let finished): isFinished = finished
    case .preceding: isFinished = false  // The rest of the content goes first, in its order.
    case .sending, .sent: return nil
    }
    encoder.becomeTunnel()
    state = .tunnel(.open(exchange.kind))
    if early.readableBytes > 0 { send(early, at: lastProgress) }
    early = ByteBuffer()
    if isFinished { finishTunnel(exchange.kind, at: lastProgress) }
    return .upgraded(head)
  }

  /// Ends the client's direction. For a WebSocket this happens some time later: its client has sent a close frame and is about
  /// to answer the server's, and many servers, most of them with TLS, send nothing more on a half-closed connection. In other
  /// protocols the end of one direction is meaningful: it is the end of a program's input.
  private func finishTunnel(_ kind: RequestKind, at now: NIODeadline) {
    if kind == .webSocket {
      state = .tunnel(.closing(at: now + configuration.webSocketClosing))
    } else {
      state = .tunnel(.outputEnded)
      ending = .endOutput
    }
  }

  package func outputEnded(at now: NIODeadline) {}

  // MARK: Output

  package var wantsTransmit: Bool { !output.isEmpty }

  package func nextTransmit(maximum: Int, at now: NIODeadline) -> ByteBuffer? {
    guard let bytes = output.next(maximum: maximum) else { return nil }
    lastProgress = now
    return bytes
  }

  private func send(_ bytes: ByteBuffer, at now: NIODeadline) {
    if output.isEmpty { lastProgress = now }
    do {
      try output.append(content: bytes, by: &encoder)
    } catch {
      fail(.request(error))
    }
  }

  // MARK: Pacing and time

  package func admitRead() -> Bool { gate.admitRead() }
  package func releaseRead(at now: NIODeadline) -> Bool {
    guard gate.releaseRead() else { return false }
    lastProgress = now
    return true
  }

  package var readRoom: Int { gate.room }

  package var nextDeadline: NIODeadline? {
    switch state {
    case .idle(let start): return start + configuration.idleTimeout
    case .tunnel(.closing(let time)): return time
    case .exchanging(let exchange):
      switch exchange.response {
      case .awaited: return output.isEmpty ? nil : lastProgress + configuration.stallTimeout
      case .content(let hasLength):
        // While the client does not read, the server is not late.
        guard hasLength, !gate.isHeldBack, let timeout = configuration.bodyTimeout else { return nil }
        return lastProgress + timeout
      }
    case .tunnel(.open), .tunnel(.outputEnded), .ended: return nil
    }
  }

  package func handleTimeout(at now: NIODeadline) {
    guard let deadline = nextDeadline, deadline <= now else { return }
    switch state {
    case .idle:
      end(.abort(byReset: false))
    case .tunnel:
      state = .tunnel(.outputEnded)
      ending = .endOutput
    case .exchanging(let exchange):
      if case .awaited = exchange.response { fail(.stalled) } else { fail(.paused) }
    case .ended:
      break
    }
  }

  // MARK: Ending

  private func end(_ ending: ConnectionEnding) {
    self.ending = ending
    state = .ended
    gate.end()
    if case .abort = ending { output.removeAll() } else { output.stopCountingContent() }
  }
}

extension FieldSection {
  /// Whether the protocol of the tunnel is that of containers.
  fileprivate var asksForTCP: Bool { withValue(of: .protocol) { FieldGrammar.equal($0, lowercased: "tcp") } ?? false }
}
