import HTTP1Session
import HTTPWire
import NIOCore

/// One exchange as an HTTP/1.1 server sees it: takes the response and writes it to its connection.
final class HTTP1ServerExchange: ResponseSink {
  private enum Input {
    /// Parts of the request are still to come.
    case request
    /// The request is whole.
    case whole
    /// Bytes, until the client ends its direction.
    case tunnel
    case tunnelEnded
  }

  private let connection: HTTP1ServerConnection
  private var context: ResponseEncoder.Context
  private var encoder = ResponseEncoder()
  private var upstream: (any RequestSink)?
  private var input: Input
  /// The request has a body, or is about to become a tunnel: `upstream` waits for an end.
  private var isStreaming = false
  /// Nothing but the end of the request is still to come.
  private var isBodiless = true
  private var handshake: WebSocketHandshake?
  private var isTunnel = false
  private var form = FailureResponse.Form.problem
  private var isRefusal = false
  private var hasHead = false
  private var isEnded = false

  init(_ head: RequestHead, on connection: HTTP1ServerConnection) {
    self.connection = connection
    context = ResponseEncoder.Context(head)
    input = .request
    isBodiless = head.framing == .none || head.framing == .length(0)
  }

  /// For the answer to something that is not a request.
  init(on connection: HTTP1ServerConnection) {
    self.connection = connection
    context = ResponseEncoder.Context()
    input = .whole
  }

  // MARK: From the connection

  var expectsInput: Bool { input == .request || input == .tunnel }

  func begin(_ head: RequestHead, with handler: any ExchangeHandler) {
    var fields = head.fields
    form = FailureResponse.Form(answering: fields)
    let configuration = connection.configuration
    let via = head.version == .v1_1 ? connection.via : "1.0 \(configuration.hop)"
    if let rejection = RequestRules.admit(&fields, configuration, via: via) {
      fail(rejection)
      return
    }
    if head.targetForm == .absolute {
      fields.append(.targetForm, "absolute")
    } else if head.kind != .connect {
      fields.append(.scheme, "http")
    }
    if head.acceptsTrailers { fields.append(.te, "trailers") }
    if head.kind == .upgrade {
      handshake = WebSocketHandshake(answering: &fields)
      guard handshake != nil else {
        fail(BywayError(.invalidRequest, "Sec-WebSocket-Key is not a key (RFC 6455 §4.1).", processing: .none))
        return
      }
    }
    isStreaming = !isBodiless || head.kind == .connect || head.kind == .upgrade
    let upstream = handler.begin(
      ExchangeHead(
        fields: fields, isComplete: !isStreaming, deadline: configuration.deadline(), readAhead: connection.readAhead),
      respondingTo: self)
    if !isEnded { self.upstream = upstream }
  }

  /// - Returns: whether somebody takes the bytes, and says so later.
  func receive(_ bytes: ByteBuffer) -> Bool {
    guard let upstream else { return false }
    upstream.write(bytes)
    return true
  }

  func requestEnded(trailers: FieldSection?) {
    switch input {
    case .request:
      input = .whole
      if context.request == .connect || context.request == .upgrade {
        enterTunnel()
      } else if isStreaming {
        upstream?.finish(trailers: trailers)
      }
      endIfDone()
    case .tunnel:
      input = .tunnelEnded
      upstream?.finish(trailers: nil)
    case .whole, .tunnelEnded:
      break
    }
  }

  /// Answers a request that is not worth an exchange, or has turned out so.
  func refuse(_ error: BywayError, status: Int) {
    upstream.take()?.cancel(error)
    context.keepAlive = false
    if isEnded {
      endIfDone()
    } else if hasHead {
      cutShort(error)
    } else {
      respond(FailureResponse(error, hop: connection.configuration.hop, status: status, form: form))
    }
  }

  /// Tells the upstream what the channel has taken.
  func credit() {
    let bytes = connection.output.takeCredit()
    if bytes > 0 { upstream?.didConsumeResponse(bytes) }
  }

  func connectionEnded() {
    isEnded = true
    upstream.take()?.cancel(BywayError(.cancelled, "The client closed the connection."))
  }

  // MARK: ResponseSink

  func informational(_ head: FieldSection) {
    guard !isEnded, !hasHead else { return }
    var output = connection.channel.allocator.buffer(capacity: 256)
    // One that cannot be written can be left out (RFC 9110 §15.2).
    guard (try? encoder.writeInformational(head, context, into: &output)) != nil else { return }
    if output.readableBytes > 0 { connection.output.send(output) }
  }

  func head(_ head: FieldSection, isComplete: Bool) {
    guard !isEnded, !hasHead else { return }
    var head = head
    isTunnel = opensTunnel(head)
    let handshake = isTunnel ? handshake : nil
    handshake?.confirm(&head)
    if !mayKeepAlive { context.keepAlive = false }
    var output = connection.channel.allocator.buffer(capacity: 512)
    do {
      try encoder.writeHead(
        head, context, hasBody: !isComplete, upgrade: handshake == nil ? nil : "websocket", into: &output)
    } catch {
      cutShort(BywayError(.protocolViolation, "The response cannot be written: \(error.message)"))
      return
    }
    hasHead = true
    connection.output.send(output)
    if isTunnel { enterTunnel() }
    if isComplete { responseEnded() }
  }

  func write(_ bytes: ByteBuffer) {
    guard !isEnded, hasHead, bytes.readableBytes > 0 else { return }
    do {
      // A response to HEAD has no body, whatever its handler writes.
      if encoder.framing != .none { try connection.output.sendContent(bytes, by: &encoder) }
    } catch {
      cutShort(BywayError(.protocolViolation, "The response cannot be written: \(error.message)"))
      return
    }
    credit()
  }

  func finish(trailers: FieldSection?) {
    guard !isEnded, hasHead else { return }
    var output = connection.channel.allocator.buffer(capacity: 64)
    do {
      if !isTunnel { try encoder.writeEnd(trailers: trailers, into: &output) }
    } catch {
      cutShort(BywayError(.protocolViolation, "The response cannot be written: \(error.message)"))
      return
    }
    if output.readableBytes > 0 { connection.output.send(output) }
    responseEnded()
  }

  func fail(_ error: BywayError) {
    guard !isEnded else { return }
    upstream = nil
    if hasHead {
      cutShort(error)
    } else {
      respond(FailureResponse(error, hop: connection.configuration.hop, form: form))
    }
  }

  func didConsumeRequest(_ bytes: Int) {
    connection.didConsumeRequest(bytes, by: self)
  }

  // MARK: Tunnels

  private func opensTunnel(_ head: FieldSection) -> Bool {
    guard context.request == .connect || context.request == .upgrade, let status = head.status else { return false }
    return (200..<300).contains(status)
  }

  /// Once the request is whole and the answer is yes, whichever comes last.
  private func enterTunnel() {
    guard isTunnel, input == .whole else { return }
    input = .tunnel
    connection.becomeTunnel()
  }

  // MARK: Ending

  /// Where the rest of a request would have to be read and dropped, the connection is not worth it. And what a client
  /// sends after a CONNECT that was refused is not meant to be a request.
  private var mayKeepAlive: Bool {
    (input == .whole || isBodiless) && context.request != .connect && !connection.isDraining
  }

  private func respond(_ response: FailureResponse) {
    isRefusal = true
    head(response.head, isComplete: context.request == .head)
    write(response.body)
    finish(trailers: nil)
  }

  private func responseEnded() {
    isEnded = true
    upstream = nil
    endIfDone()
  }

  private func endIfDone() {
    guard isEnded else { return }
    if !encoder.keepAlive || isTunnel {
      connection.ended(self, keepAlive: false)
    } else if input == .whole {
      connection.ended(self, keepAlive: true)
    }
  }

  /// Ends a response that cannot be completed. A body cut short must not look like a whole one.
  private func cutShort(_ error: BywayError) {
    upstream.take()?.cancel(error)
    if hasHead || isRefusal {
      isEnded = true
      connection.abort(byReset: encoder.framing == .untilClose || encoder.framing == .tunnel)
    } else {
      respond(FailureResponse(error, hop: connection.configuration.hop, form: form))
    }
  }
}
