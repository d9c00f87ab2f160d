package import BywayHTTPWire
package import NIOCore

/// An encoder for the requests on one connection to a server. Its state is the current message.
package struct RequestEncoder: MessageEncoder, Sendable {
  package struct Options: Sendable {
    /// The form of the target. Proxies get the absolute form. CONNECT always uses the authority form.
    package var targetForm: TargetForm
    /// Whether content, possibly empty, follows the head.
    package var hasBody: Bool
    /// Whether the connection should stay open after this exchange.
    package var keepAlive: Bool
    /// Whether to send `TE: trailers`.
    package var acceptsTrailers: Bool

    package init(
      targetForm: TargetForm = .origin, hasBody: Bool = false, keepAlive: Bool = true, acceptsTrailers: Bool = false
    ) {
      self.targetForm = targetForm
      self.hasBody = hasBody
      self.keepAlive = keepAlive
      self.acceptsTrailers = acceptsTrailers
    }
  }

  package var body = BodyWriter(.none)
  private let capitalizesFieldNames: Bool

  /// Creates an encoder for a connection.
  /// - Parameter capitalizesFieldNames: whether names are written as `X-Serial` instead of `x-serial`.
  package init(capitalizesFieldNames: Bool = false) {
    self.capitalizesFieldNames = capitalizesFieldNames
  }

  /// Writes the head that the section describes.
  ///
  /// `:authority`, or else `host`, becomes Host. CONNECT with `:protocol` (RFC 8441) becomes a request with Upgrade: GET, or
  /// the method that `byway-upgrade-method` names. The caller has added the fields of the handshake. A body is framed by
  /// `content-length` if there is one, and otherwise in chunks. After CONNECT and an upgrade the framing is `tunnel`: bytes are
  /// sent unchanged. Only an upgrade with `byway-upgrade-length` has a length, until ``becomeTunnel()``.
  ///
  /// - Throws: `unencodable` if the head is invalid; nothing was written.
  package mutating func writeHead(
    _ fields: FieldSection, _ options: Options = Options(), into output: inout ByteBuffer
  ) throws(HTTP1Failure) {
    let kind = RequestKind(fields)
    let target = try RequestTarget(of: fields, kind: kind, form: options.targetForm)
    let framing = try Self.framing(of: fields, kind: kind, hasBody: options.hasBody)
    let method = try Self.method(of: fields, kind: kind)
    let start = output.writerIndex
    try output.writeLines(expected: fields.expectedHeadSize) { output throws(HTTP1Failure) in
      if let method { output.writeValue(of: method, in: fields) } else { output.append("GET") }
      output.append(" ")
      target.write(fields, into: &output)
      output.append(" HTTP/1.1\r\nHost: ")
      output.writeValue(of: target.authority, in: fields)
      output.append("\r\n")
      try output.writeForwardedFields(of: fields, keepingProxyFields: target.isForProxy)
      try Self.writeConnectionFields(of: fields, kind: kind, options, into: &output)
      switch framing {
      case .length(let length): output.writeContentLength(length)
      case .chunked: output.append("Transfer-Encoding: chunked\r\n")
      case .tunnel where fields.isUpload(method): output.writeContentLength(0)
      case .none, .untilClose, .tunnel: break
      }
      output.append("\r\n")
    }
    if capitalizesFieldNames { output.capitalizeFieldNames(from: start) }
    body = BodyWriter(framing)
  }

  /// Switches to the tunnel after the server agreed to an upgrade: all further bytes are sent unchanged.
  package mutating func becomeTunnel() {
    body = BodyWriter(.tunnel)
  }

  /// The field that contains the method to write; `nil` for GET.
  private static func method(of fields: FieldSection, kind: RequestKind) throws(HTTP1Failure) -> KnownField? {
    switch kind {
    case .ordinary, .head, .connect, .attach: return .method
    case .webSocket: return nil
    case .upgrade:
      guard fields.contains(.upgradeMethod) else { return nil }
      let isGood = fields.withValue(of: .upgradeMethod) { method in
        FieldGrammar.isToken(method) && !method.equals("CONNECT") && !method.equals("HEAD")
      }
      guard isGood == true else {
        throw .unencodable("The method of a request to upgrade is not one that may ask for it.")
      }
      return .upgradeMethod
    }
  }

  /// Ends the request. Trailers are dropped if the framing cannot carry them.
  /// - Throws: if content is missing. The connection must then be closed, because the peer waits for the rest.
  package mutating func writeEnd(trailers: FieldSection?, into output: inout ByteBuffer) throws(HTTP1Failure) {
    let start = output.writerIndex
    try body.writeEnd(trailers: trailers, into: &output)
    if capitalizesFieldNames { output.capitalizeFieldNames(from: start) }
  }

  private static func framing(
    of fields: FieldSection, kind: RequestKind, hasBody: Bool
  ) throws(HTTP1Failure) -> BodyFraming {
    if kind == .upgrade, fields.contains(.upgradeLength) {
      guard let length = fields.withValue(of: .upgradeLength, FieldGrammar.length) ?? nil else {
        throw .unencodable("The length of the content before a tunnel is not a number.")
      }
      guard hasBody || length == 0 else { throw .unencodable("The request to upgrade has a length but no content.") }
      return length > 0 ? .length(length) : .tunnel
    }
    if kind.asksForTunnel { return .tunnel }
    let declared = try fields.declaredLength()
    if hasBody { return declared.map(BodyFraming.length) ?? .chunked }
    guard declared ?? 0 == 0 else { throw .unencodable("The request has a Content-Length but no body.") }
    // Without it, a server may wait for content if the method usually has some (RFC 9110 §8.6).
    return declared != nil || fields.isUpload(.method) ? .length(0) : .none
  }

  private static func writeConnectionFields(
    of fields: FieldSection, kind: RequestKind, _ options: Options, into output: inout HeadWriter
  ) throws(HTTP1Failure) {
    if kind.asksForUpgrade {
      guard fields.withValue(of: .protocol, FieldGrammar.isProtocol) == true else {
        throw .unencodable("The protocol to upgrade to is not a protocol's name.")
      }
      output.append("Upgrade: ")
      output.writeValue(of: .protocol, in: fields)
      output.append("\r\nConnection: upgrade\r\n")
    } else if !options.keepAlive {
      output.append("Connection: close\r\n")
    }
    // TE ends at the next hop, so Connection names it (RFC 9110 §10.1.4).
    if options.acceptsTrailers { output.append("TE: trailers\r\nConnection: TE\r\n") }
  }
}

extension FieldSection {
  /// Whether the method in that field usually has content.
  fileprivate func isUpload(_ method: KnownField?) -> Bool {
    guard let method else { return false }
    return withValue(of: method) { $0.equals("POST") || $0.equals("PUT") || $0.equals("PATCH") } ?? false
  }
}
