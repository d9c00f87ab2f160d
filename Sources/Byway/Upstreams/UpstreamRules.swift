import HTTPWire

/// Who answers at the far end of an upstream.
package enum FarEnd: Sendable, Hashable {
  /// A server, which speaks for itself and for nobody on the way.
  case origin
  /// The other end of a link, which says why it could not reach an origin.
  case gateway
  /// An HTTP proxy, which may ask this hop for a login (RFC 9110 §11.7).
  case proxy
}

/// What is checked and changed in every request that leaves by an upstream, and in every response that comes back.
struct UpstreamRules: Sendable {
  let farEnd: FarEnd
  /// The member that this hop adds to a response's `Via`; `nil` where it is the one who asks.
  let via: String?
  /// The far end is one of the devices beneath these; `nil` where it has no siblings.
  var siblings: Siblings?

  /// A request's head as it goes out over HTTP/2.
  func prepared(_ head: FieldSection) -> FieldSection {
    var head = head
    // RFC 9113 §8.3.1: one of them, or two opinions.
    if head.contains(.authority) { head.remove(.host) }
    // A login for a proxy ends at the first one, which this hop is (RFC 9110 §11.7.2).
    if via != nil { head.remove(.proxyAuthorization) }
    if farEnd == .origin {
      head.remove(.upgradeMethod)
      head.remove(.upgradeLength)
    }
    return head
  }

  /// Judges a request to upgrade on its way to a server of HTTP/2, which has extended CONNECT for that (RFC 8441): in place of GET,
  /// and without content in front of the tunnel. Other hops of Byway read the rest from their own fields.
  /// - Parameter isKnown: the server has said that it knows extended CONNECT.
  func judgeUpgrade(_ head: FieldSection, isKnown: Bool) -> BywayError? {
    guard head.contains(.protocol) else { return nil }
    if !isKnown {
      return Self.unsupported("The far end speaks HTTP/2, and has not said that it knows extended CONNECT (RFC 8441).")
    }
    guard farEnd == .origin, head.contains(.upgradeMethod) else { return nil }
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
  ///   - request: whose response it is.
  ///   - isComplete: the response ends with its head.
  /// - Returns: why the response must not go on, or `nil`.
  func admit(_ head: inout FieldSection, to request: FieldSection, isComplete: Bool) -> BywayError? {
    if hearsStrangers {
      ProxyStatus.removeOurs(from: &head)
      if !request.contains(.protocol) { head.remove(.upgradeStatus) }
    }
    siblings?.hosts?.keepApart(&head, of: request)
    guard let via else { return nil }
    if head.status == 407 {
      // Passed on, it would be this proxy that asks its users for a password (RFC 9110 §15.5.8).
      guard farEnd == .proxy else {
        return BywayError(
          .protocolViolation, "The far end asks for a login with status 407, which only a proxy may use.")
      }
    } else {
      head.remove(.proxyAuthenticate)
    }
    if !isComplete || !Self.isOfGRPC(head) { head.append(member: via, to: .via) }
    return nil
  }

  /// A complete head of gRPC is a trailer section: its fields are the application's metadata (gRPC over HTTP/2, Trailers-Only).
  private static func isOfGRPC(_ head: FieldSection) -> Bool {
    head.withValue(of: .contentType) { type in
      let name: StaticString = "application/grpc"
      guard type.count >= name.utf8CodeUnitCount else { return false }
      return FieldGrammar.equal(
        UnsafeRawBufferPointer(rebasing: type[..<name.utf8CodeUnitCount]), lowercased: name)
    } ?? false
  }

  /// Of what comes besides a response's head: informational ones and trailers.
  /// - Parameter request: whose response it is.
  func cleaned(_ fields: FieldSection, of request: FieldSection) -> FieldSection {
    var fields = fields
    siblings?.hosts?.keepApart(&fields, of: request)
    guard fields.contains(.proxyStatus) || fields.contains(.proxyAuthenticate) else { return fields }
    if hearsStrangers { ProxyStatus.removeOurs(from: &fields) }
    if via != nil { fields.remove(.proxyAuthenticate) }
    return fields
  }

  /// What comes back may be an origin's own words. To a CONNECT, which is what a proxy is asked where this is not a hop, only
  /// hops answer.
  private var hearsStrangers: Bool {
    switch farEnd {
    case .origin: true
    case .proxy: via != nil
    case .gateway: false
    }
  }
}
