package import BywayHTTPWire
package import NIOCore

/// Parses the responses of a server on one connection (RFC 9112), strictly and in place.
///
/// This module exists in addition to NIOHTTP1 for two reasons. A gateway runs thousands of short exchanges over one HTTP/2
/// connection, and a head that is parsed in place is passed on without becoming strings. And both ends of Byway read HTTP/1.1,
/// so both must refuse the same input: if one hop overlooks something, the next one acts on it.
///
/// Pull style: call ``receive(_:)``, then ``nextEvent()`` until it returns `nil`. A caller exerts back-pressure by not calling
/// it.
package struct ResponseParser: ~Copyable, Sendable {
  private enum State {
    case idle, statusLine, fieldLines(StatusLine), body, tunnel
  }

  private let informationalLimit: Int
  private var reader: MessageReader
  private var state = State.idle
  private var failure: HTTP1Failure?
  private var request = RequestKind.ordinary
  private var mayAttach = false
  private var informationalResponses = 0
  private var keepAlive = true

  package init(configuration: HTTP1Configuration = .defaults) {
    informationalLimit = configuration.informationalResponses
    reader = MessageReader(.response, configuration)
  }

  /// Prepares for the response to a request of this kind. Call it before the request's first byte is sent, and after the
  /// previous exchange has ended. Bytes that arrive earlier answer no request and fail the connection.
  /// - Parameter mayAttach: whether a success without framing opens a tunnel, as servers of containers answer an upgrade to `tcp`.
  package mutating func begin(_ request: RequestKind, mayAttach: Bool = false) {
    guard isIdle, reader.input.isEmpty else {
      if failure == nil { failure = Self.unsolicited }
      return
    }
    self.request = request
    self.mayAttach = mayAttach
    informationalResponses = 0
    state = .statusLine
  }

  package mutating func receive(_ bytes: consuming ByteBuffer) {
    reader.input.receive(bytes)
  }

  /// Records the end of the peer's input. ``nextEvent()`` then ends content that lasts until close, returns `nil` on an idle
  /// connection, and throws `incomplete` otherwise.
  package mutating func receiveEnd() {
    reader.input.receiveEnd()
  }

  /// Returns the next event; `nil` if more input is needed.
  /// - Throws: the same failure on each later call. Bytes after the end of a response are a failure, so a caller that needs
  ///   only that response stops at `end`.
  package mutating func nextEvent() throws(HTTP1Failure) -> ResponseEvent? {
    if let failure { throw failure }
    do throws(HTTP1Failure) {
      return try readEvent()
    } catch {
      failure = error
      throw error
    }
  }

  /// Whether another request may be sent: no exchange is in progress, both sides keep the connection open, and no unsolicited
  /// bytes have arrived. The caller must also have sent its whole request.
  package var isReusable: Bool {
    isIdle && keepAlive && failure == nil && reader.input.isEmpty && !reader.input.hasEnded
  }

  /// Whether no exchange is in progress.
  package var isIdle: Bool {
    if case .idle = state { true } else { false }
  }

  /// The number of bytes received and not delivered yet.
  package var bufferedBytes: Int { reader.input.count }

  // MARK: Reading

  private mutating func readEvent() throws(HTTP1Failure) -> ResponseEvent? {
    while true {
      switch state {
      case .idle:
        if !reader.input.isEmpty { throw Self.unsolicited }
        return nil
      case .statusLine:
        guard let statusLine = try readStatusLine() else { return nil }
        state = .fieldLines(statusLine)
      case .fieldLines(let statusLine):
        guard try reader.readFieldLines() else { return nil }
        return try finishHead(statusLine)
      case .body, .tunnel:
        switch try reader.readBody() {
        case nil: return nil
        case .bytes(let bytes): return .body(bytes)
        case .end(let trailers):
          state = .idle
          return .end(trailers: trailers)
        }
      }
    }
  }

  private mutating func readStatusLine() throws(HTTP1Failure) -> StatusLine? {
    // Another protocol may never send a line feed, so do not wait for one.
    try reader.input.peek { bytes throws(HTTP1Failure) in
      if !StatusLine.mayBegin(bytes) { throw .notHTTP(bytes, expected: "a status line") }
    }
    return try reader.readStartLine(tooLong: .tooLarge("The status line is too long.")) {
      line, fields throws(HTTP1Failure) in
      try StatusLine(line, into: &fields)
    }
  }

  private mutating func finishHead(_ statusLine: StatusLine) throws(HTTP1Failure) -> ResponseEvent {
    let facts = reader.lines.facts
    var head = ResponseHead(
      fields: reader.takeFields(), status: statusLine.code, version: statusLine.version, framing: .none,
      keepAlive: facts.keepAlive(statusLine.version), upgrade: facts.upgrade(statusLine.version))
    facts.connection.strip(&head.fields)

    if head.status < 200, head.status != 101 {
      informationalResponses += 1
      guard informationalResponses <= informationalLimit else {
        throw .tooLarge("More than \(informationalLimit) informational responses came.")
      }
      head.fields.remove(.contentLength)
      state = .statusLine
      return .informational(head.fields)
    }
    try head.frame(by: facts, answering: request, mayAttach: mayAttach)
    keepAlive = head.keepAlive
    reader.beginBody(head.framing, options: facts.connection)
    if head.framing == .tunnel {
      state = .tunnel
      return .upgraded(head)
    }
    state = .body
    return .head(head)
  }

  private static let unsolicited = HTTP1Failure(.unsolicited, "The peer sent a response without a request.")
}
