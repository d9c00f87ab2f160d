import BywayHTTPWire

extension RequestHead {
  init(
    _ line: RequestLine, fields: FieldSection, facts: MessageFacts, tunnelsH2C: Bool
  ) throws(HTTP1Failure) {
    if line.version == .v1_1, !facts.hasHost { throw .malformed("The request has no Host field.") }
    self.fields = fields
    targetForm = line.form
    version = line.version
    framing = try Self.framing(line, facts)
    kind = RequestKind(fields)
    upgrade = facts.upgrade(version)
    acceptsTrailers = facts.acceptsTrailers
    // A proxy must not keep a connection open to an HTTP/1.0 client, which may not know that it uses a proxy (RFC 9112 §9.3).
    keepAlive = facts.keepAlive(version) && (version == .v1_1 || targetForm == .origin)
    expectsContinue = facts.expectsContinue && version == .v1_1 && framing != .none && framing != .length(0)

    facts.connection.strip(&self.fields)
    if kind == .connect { self.fields.remove(.contentLength) }
    if version == .v1_0 { self.fields.remove(.expect) }  // RFC 9110 §10.1.1
    if let offer = offer(tunnelsH2C: tunnelsH2C) { try accept(offer) }
  }

  private mutating func accept(_ offer: RequestKind) throws(HTTP1Failure) {
    if framing == .chunked {
      // The bytes after the content belong to the other protocol, so a hop must know in advance where they start.
      throw .unsupported(
        "A request with Upgrade has content of unknown length: send Content-Length, or leave Upgrade out.", status: 411)
    }
    kind = offer
    // The connection knows the length. An extended CONNECT must not have this field (RFC 9113 §8.5).
    fields.remove(.contentLength)
  }

  /// Determines the framing (RFC 9112 §6.3). A message that is framed twice is refused instead of repaired.
  private static func framing(_ line: RequestLine, _ facts: MessageFacts) throws(HTTP1Failure) -> BodyFraming {
    if facts.transferCodings != .absent {
      if facts.contentLength != nil { throw .malformed("A request has Transfer-Encoding and Content-Length.") }
      if line.version == .v1_0 { throw .malformed("A request of HTTP/1.0 has Transfer-Encoding.") }
    }
    let framing: BodyFraming =
      switch facts.transferCodings {
      case .absent: facts.contentLength.map(BodyFraming.length) ?? .none
      case .chunked: .chunked
      case .unframed: throw .malformed("The last transfer coding of a request is not chunked.")
      case .unknownThenChunked:
        throw .unsupported("A request has a transfer coding other than chunked.", status: 501)
      }
    // The bytes after the head of a CONNECT belong to the tunnel (RFC 9110 §9.3.6).
    if line.form == .authority, framing != .none, framing != .length(0) {
      throw .malformed("A CONNECT request has a body.")
    }
    return framing
  }

  /// The tunnel that the request offers. A server may ignore an offer (RFC 9110 §7.8). This one ignores offers of other HTTP
  /// versions, a WebSocket by a method other than GET, and an upgrade of HEAD, whose response has no content.
  private func offer(tunnelsH2C: Bool) -> RequestKind? {
    guard kind == .ordinary, targetForm != .asterisk else { return nil }
    guard var upgrade else { return asksToAttach ? .attach : nil }
    let isGet = fields.withValue(of: .method) { $0.elementsEqual("GET".utf8) } ?? false
    let mayBeWebSocket = isGet && (framing == .none || framing == .length(0))
    return upgrade.withUTF8 { protocols in
      var offer: RequestKind?
      FieldGrammar.forEachMember(of: UnsafeRawBufferPointer(protocols)) { name in
        if FieldGrammar.equal(name, lowercased: "websocket") {
          if mayBeWebSocket { offer = .webSocket }
        } else if offer == nil, !FieldGrammar.carriesHTTP(name) || tunnelsH2C && FieldGrammar.isH2C(name) {
          offer = .upgrade
        }
      }
      return offer
    }
  }

  /// Whether the client is about to use the connection as a tunnel without an `Upgrade`.
  private var asksToAttach: Bool {
    guard case .length(1...) = framing, version == .v1_1 else { return false }
    return fields.withValue(of: .method) { $0.equals("POST") } == true
      && fields.withValue(of: .path, FieldGrammar.isExecStart) == true
  }
}
