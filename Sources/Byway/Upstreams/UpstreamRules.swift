import BywayHTTPWire

/// The kind of server of an upstream.
package enum ServerKind: Sendable, Hashable {
  /// A server, which answers for itself and not for other hops.
  case origin
  /// The other end of a link, which reports why it could not reach an origin.
  case gateway
  /// An HTTP proxy, which may ask this hop for a login (RFC 9110 §11.7).
  case proxy
}

/// The checks and changes of all requests to an upstream and of all its responses.
struct UpstreamRules: Sendable {
  let serverKind: ServerKind
  /// The member that this hop adds to a response's `Via`; `nil` where it is the client.
  let via: String?
  /// `nil` where the remote end has no siblings.
  var siblings: (any SiblingRules)?

  /// Returns the head of a request as sent over HTTP/2.
  func prepared(_ head: FieldSection) -> FieldSection {
    var head = head
    // RFC 9113 §8.3.1: only one of them, as they could differ.
    if head.contains(.authority) { head.remove(.host) }
    // Credentials for a proxy end at the first one, which is this hop (RFC 9110 §11.7.2).
    if via != nil { head.remove(.proxyAuthorization) }
    if serverKind == .origin {
      head.remove(.upgradeMethod)
      head.remove(.upgradeLength)
    }
    return head
  }

  /// Checks an upgrade request to an HTTP/2 server, which has extended CONNECT for that (RFC 8441): in place of GET, and without content
  /// before the tunnel. Other Byway hops read the rest from their own fields.
  /// - Parameter isKnown: whether the server supports extended CONNECT.
  func judgeUpgrade(_ head: FieldSection, isKnown: Bool) -> BywayError? {
    guard head.contains(.protocol) else { return nil }
    if !isKnown {
      return Self.unsupported("The far end speaks HTTP/2, and has not announced extended CONNECT (RFC 8441).")
    }
    guard serverKind == .origin, head.contains(.upgradeMethod) else { return nil }
    let isGet = head.withValue(of: .upgradeMethod) { $0.elementsEqual("GET".utf8) } ?? true
    if isGet, !head.contains(.upgradeLength) { return nil }
    return Self.unsupported(
      "The origin speaks HTTP/2, where only a GET without content can become a tunnel (RFC 8441).")
  }

  private static func unsupported(_ message: String) -> BywayError {
    BywayError(.unsupported, message, processing: .none)
  }

  /// Checks and changes the head of a final response.
  /// - Parameters:
  ///   - request: the request that it answers.
  ///   - isComplete: whether the response ends with its head.
  /// - Returns: why the response must not be passed on, or `nil`.
  func admit(_ head: inout FieldSection, to request: ExchangeHead, isComplete: Bool) -> BywayError? {
    if mayComeFromOrigin {
      ProxyStatus.removeOurs(from: &head)
      if !request.fields.contains(.protocol) { head.remove(.upgradeStatus) }
    }
    siblings?.keepApart(&head, of: request)
    guard let via else { return nil }
    if head.status == 407 {
      // Passed on, it would look like this proxy asking its users for a password (RFC 9110 §15.5.8).
      guard serverKind == .proxy else {
        return BywayError(
          .protocolViolation, "The far end asks for a login with status 407, which only a proxy may use.")
      }
    } else {
      head.remove(.proxyAuthenticate)
    }
    if !isComplete || !Self.isOfGRPC(head) { head.append(member: via, to: .via) }
    return nil
  }

  /// A complete gRPC head is a trailer section: its fields are metadata of the application (gRPC over HTTP/2, Trailers-Only).
  private static func isOfGRPC(_ head: FieldSection) -> Bool {
    head.withValue(of: .contentType) { type in
      let name: StaticString = "application/grpc"
      guard type.count >= name.utf8CodeUnitCount else { return false }
      return FieldGrammar.equal(
        UnsafeRawBufferPointer(rebasing: type[..<name.utf8CodeUnitCount]), lowercased: name)
    } ?? false
  }

  /// Cleans the other field sections of a response: informational heads and trailers.
  /// - Parameter request: the request that they answer.
  func cleaned(_ fields: FieldSection, of request: ExchangeHead) -> FieldSection {
    var fields = fields
    siblings?.keepApart(&fields, of: request)
    guard fields.contains(.proxyStatus) || fields.contains(.proxyAuthenticate) else { return fields }
    if mayComeFromOrigin { ProxyStatus.removeOurs(from: &fields) }
    if via != nil { fields.remove(.proxyAuthenticate) }
    return fields
  }

  /// Whether responses may come from an origin, which is not trusted. Where this is not a hop, a proxy only gets CONNECT requests, which
  /// hops alone answer.
  private var mayComeFromOrigin: Bool {
    switch serverKind {
    case .origin: true
    case .proxy: via != nil
    case .gateway: false
    }
  }
}
