import BywayHTTPWire
package import NIOCore

/// Parses the requests of a client on one connection (RFC 9112), strictly and in place.
///
/// Pull style: call ``receive(_:)``, then ``nextEvent()`` until it returns `nil`. After `end` the next call starts with the
/// next request, so call it only when the response to this one is on its way.
package struct RequestParser: ~Copyable, Sendable {
  private enum State {
    case idle, requestLine, fieldLines(RequestLine), body, tunnel, closed
  }

  private var reader: MessageReader
  private var state = State.idle
  private var failure: HTTP1Failure?
  private var hasSkippedEmptyLine = false

  package init(configuration: HTTP1Configuration = .defaults) {
    reader = MessageReader(.request, configuration)
  }

  package mutating func receive(_ bytes: consuming ByteBuffer) {
    reader.input.receive(bytes)
  }

  /// Records the end of the client's input: an incomplete request fails as `incomplete`, and a tunnel ends.
  package mutating func receiveEnd() {
    reader.input.receiveEnd()
  }

  /// Returns the next event; `nil` if more input is needed.
  /// - Throws: the same failure on each later call. Answer with its status and close the connection.
  package mutating func nextEvent() throws(HTTP1Failure) -> RequestEvent? {
    if let failure { throw failure }
    do throws(HTTP1Failure) {
      return try readEvent()
    } catch {
      failure = error
      throw error
    }
  }

  /// Switches to the tunnel of the CONNECT or upgrade that has just ended and was granted: further bytes are passed on
  /// unchanged.
  package mutating func becomeTunnel() {
    reader.beginBody(.tunnel)
    state = .tunnel
  }

  /// Whether the parser is between requests, and no bytes of the next one have arrived.
  package var isIdle: Bool {
    if case .idle = state { reader.input.isEmpty } else { false }
  }

  /// Whether the client sends no more, and all its requests have been delivered.
  package var isClosed: Bool {
    switch state {
    case .closed: true
    case .idle: reader.input.isEmpty && reader.input.hasEnded
    default: false
    }
  }

  /// The number of bytes received and not delivered yet.
  package var bufferedBytes: Int { reader.input.count }

  /// The number of bytes that wait: those of an incomplete head, and those behind it.
  var waitingBytes: Int {
    if case .fieldLines = state { reader.lines.size + reader.input.count } else { reader.input.count }
  }

  // MARK: Reading

  private mutating func readEvent() throws(HTTP1Failure) -> RequestEvent? {
    while true {
      switch state {
      case .idle:
        if reader.input.isEmpty { return nil }
        guard try skipEmptyLine(), !reader.input.isEmpty else { return nil }
        hasSkippedEmptyLine = false
        state = .requestLine
      case .requestLine:
        guard let requestLine = try readRequestLine() else { return nil }
        state = .fieldLines(requestLine)
      case .fieldLines(let requestLine):
        guard try reader.readFieldLines() else { return nil }
        let head = try finishHead(requestLine)
        state = .body
        return .head(head)
      case .body, .tunnel:
        switch try reader.readBody() {
        case nil: return nil
        case .bytes(let bytes): return .body(bytes)
        case .end(let trailers):
          if case .tunnel = state { state = .closed } else { state = .idle }
          return .end(trailers: trailers)
        }
      case .closed:
        return nil
      }
    }
  }

  /// Skips one empty line before a request (RFC 9112 §2.2). Returns `false` if more bytes are needed to decide.
  private mutating func skipEmptyLine() throws(HTTP1Failure) -> Bool {
    let isPresent = try reader.input.peek { bytes throws(HTTP1Failure) in bytes.first == UInt8(ascii: "\r") }
    guard isPresent, !hasSkippedEmptyLine else { return true }
    let garbage = HTTP1Failure.malformed("There is a carriage return where a request should begin.")
    guard let _: Void = try reader.input.readLine(limit: 0, tooLong: garbage, { _ in }) else {
      if reader.input.hasEnded { throw .incomplete(.inHead) }
      return false
    }
    hasSkippedEmptyLine = true
    return true
  }

  private mutating func readRequestLine() throws(HTTP1Failure) -> RequestLine? {
    // Another protocol may never send a line feed, so do not wait for one.
    try reader.input.peek { bytes throws(HTTP1Failure) in
      guard let first = bytes.first, first != UInt8(ascii: "\r"), !FieldGrammar.isTokenByte(first) else { return }
      throw .notHTTP(bytes, expected: "a request line")
    }
    return try reader.readStartLine(tooLong: .tooLarge("The request line is too long.", status: 414)) {
      line, fields throws(HTTP1Failure) in
      try RequestLine(line, into: &fields)
    }
  }

  private mutating func finishHead(_ requestLine: RequestLine) throws(HTTP1Failure) -> RequestHead {
    let facts = reader.lines.facts
    let head = try RequestHead(
      requestLine, fields: reader.takeFields(), facts: facts, tunnelsH2C: reader.configuration.tunnelsH2C)
    reader.beginBody(head.framing, options: facts.connection)
    return head
  }
}
