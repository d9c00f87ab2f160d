import BywayHTTPWire

extension ResponseHead {
  /// Determines the framing by the rules of RFC 9112 §6.3. A message that is framed twice is refused instead of repaired.
  mutating func frame(
    by facts: MessageFacts, answering request: RequestKind, mayAttach: Bool = false
  ) throws(HTTP1Failure) {
    if status == 101 || (request == .connect && status / 100 == 2) {
      guard status != 101 || (request.asksForUpgrade && upgrade != nil) else {
        throw .malformed("The server switched protocols without being asked.")
      }
      fields.remove(.contentLength)
      keepAlive = false
      framing = .tunnel
      return
    }
    if facts.transferCodings != .absent {
      if facts.contentLength != nil { throw .malformed("A response has Transfer-Encoding and Content-Length.") }
      if version == .v1_0 { throw .malformed("A response of HTTP/1.0 has Transfer-Encoding.") }
    }
    if request == .head || status == 204 || status == 304 {
      if status == 204 {
        // Neither field is allowed here (RFC 9110 §8.6, RFC 9112 §6.1). A server that sends one may send a body, too.
        if facts.transferCodings != .absent || facts.contentLength ?? 0 != 0 { keepAlive = false }
        fields.remove(.contentLength)
      }
      framing = .none
      return
    }
    switch facts.transferCodings {
    case .chunked: framing = .chunked
    case .unknownThenChunked, .unframed:
      throw .unsupported("A response has a transfer coding other than chunked.", status: 502)
    case .absent:
      framing = facts.contentLength.map(BodyFraming.length) ?? .untilClose
      if framing == .untilClose {
        keepAlive = false
        // A response whose end is that of the connection says `close`. Without it, its server has given up HTTP on the connection.
        if mayAttach, status / 100 == 2, version == .v1_1, !facts.connection.closes { framing = .tunnel }
      }
    }
  }
}
