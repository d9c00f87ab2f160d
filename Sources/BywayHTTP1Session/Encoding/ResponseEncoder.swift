package import BywayHTTPWire
package import NIOCore

/// An encoder for the responses on one connection to a client. Its state is the current message.
package struct ResponseEncoder: MessageEncoder, Sendable {
  /// The properties of the request that determine how its response is written.
  package struct Context: Sendable {
    package var request: RequestKind
    package var version: HTTP1Version
    /// Whether the client and this side allow another request.
    package var keepAlive: Bool

    package init(request: RequestKind = .ordinary, version: HTTP1Version = .v1_1, keepAlive: Bool = true) {
      self.request = request
      self.version = version
      self.keepAlive = keepAlive
    }

    package init(_ head: RequestHead) {
      self.init(request: head.kind, version: head.version, keepAlive: head.keepAlive)
    }
  }

  package var body = BodyWriter(.none)
  /// Whether the connection stays open. `false` if the context said so, or if the content can only end with the connection.
  package private(set) var keepAlive = true

  package init() {}

  /// Writes a 1xx response other than 101. Writes nothing for an HTTP/1.0 client, which does not support them (RFC 9110 §15.2).
  /// - Throws: `unencodable` if the response is invalid; nothing was written.
  package mutating func writeInformational(
    _ fields: FieldSection, _ context: Context, into output: inout ByteBuffer
  ) throws(HTTP1Failure) {
    guard let status = fields.status, status / 100 == 1, status != 101 else {
      throw .unencodable("The status of an informational response is not from 100 to 199.")
    }
    if context.version == .v1_0 { return }
    try output.writeLines(expected: fields.expectedHeadSize) { output throws(HTTP1Failure) in
      output.writeStatusLine(status)
      try output.writeForwardedFields(of: fields, keepingProxyFields: false)
      output.append("\r\n")
    }
  }

  /// Writes the head of the final response.
  /// - Parameter hasBody: whether content, possibly empty, follows.
  /// - Parameter upgrade: the new protocol, with status 101.
  /// - Parameter attaches: whether a success opens the tunnel of a ``RequestKind/attach``.
  /// - Throws: `unencodable` if the response is invalid; nothing was written.
  package mutating func writeHead(
    _ fields: FieldSection, _ context: Context, hasBody: Bool, upgrade: String? = nil,
    attaches: Bool = false, into output: inout ByteBuffer
  ) throws(HTTP1Failure) {
    guard let status = fields.status, status >= 200 || status == 101 else {
      throw .unencodable("The status of a response is not a number from 200 to 999.")
    }
    var upgrade = upgrade
    let isProtocol = upgrade?.withUTF8 { FieldGrammar.isProtocol(UnsafeRawBufferPointer($0)) } ?? true
    guard isProtocol, (status == 101) == (upgrade != nil), status != 101 || context.request.asksForUpgrade else {
      throw .unencodable("Status 101 needs a request to upgrade and the agreed protocol.")
    }
    let declared = try fields.declaredLength()
    let opensTunnel = status == 101 || status / 100 == 2 && (attaches || context.request == .connect)
    let framing = opensTunnel ? .tunnel : try Self.framing(status, context, declared: declared, hasBody: hasBody)
    let keepAlive = context.keepAlive && framing != .untilClose
    try output.writeLines(expected: fields.expectedHeadSize) { output throws(HTTP1Failure) in
      output.writeStatusLine(status)
      try output.writeForwardedFields(of: fields, keepingProxyFields: status == 407)
      if let upgrade {
        output.append("Upgrade: ")
        output.append(text: upgrade)
        output.append("\r\nConnection: upgrade\r\n")
      } else if framing != .tunnel {
        if !keepAlive {
          output.append("Connection: close\r\n")
        } else if context.version == .v1_0 {
          output.append("Connection: keep-alive\r\n")
        }
      }
      switch framing {
      case .length(let length): output.writeContentLength(length)
      case .chunked: output.append("Transfer-Encoding: chunked\r\n")
      case .none: if let declared, status != 204 { output.writeContentLength(declared) }
      case .untilClose, .tunnel: break
      }
      output.append("\r\n")
    }
    self.keepAlive = keepAlive && framing != .tunnel
    body = BodyWriter(framing)
  }

  private static func framing(
    _ status: Int, _ context: Context, declared: Int?, hasBody: Bool
  ) throws(HTTP1Failure) -> BodyFraming {
    if context.request == .head || status == 204 || status == 304 { return .none }
    if let declared {
      guard hasBody || declared == 0 else { throw .unencodable("The response has a Content-Length but no body.") }
      return .length(declared)
    }
    if !hasBody { return .length(0) }
    return context.version == .v1_1 ? .chunked : .untilClose
  }
}

extension HeadWriter {
  fileprivate mutating func writeStatusLine(_ status: Int) {
    append("HTTP/1.1 ")
    append(text: String(status))
    append(" ")
    append(ReasonPhrase.of(status))
    append("\r\n")
  }
}
