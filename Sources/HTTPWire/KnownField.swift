/// The field names that a hop looks at. Everything else is ``other`` and passes unread.
///
/// A section classifies each name once, when the line is appended, so that later filters are a switch over one byte.
@usableFromInline
package enum KnownField: UInt8, Sendable, CaseIterable {
  case other

  // Pseudo-header fields, RFC 9113 §8.3 and RFC 8441 §4.
  case method, scheme, authority, path, status, `protocol`

  // Connection-specific fields, RFC 9110 §7.6.1 and RFC 9113 §8.2.2.
  case connection, keepAlive, proxyConnection, transferEncoding, upgrade, te

  // Fields that a hop reads, sets or checks.
  case accept
  case host, contentLength, trailer, via, expect, date, server, priority, forwarded, proxyStatus, contentType, cookie
  case maxForwards
  case proxyAuthenticate, proxyAuthorization
  case secWebSocketKey, secWebSocketAccept, secWebSocketVersion
  case origin, referer, secFetchSite, secFetchDest
  case userAgent
  /// W3C Trace Context.
  case traceparent, tracestate

  /// Marks a request that a local client sent in absolute form (RFC 9112 §3.2.2): docs/architecture.md says why.
  case targetForm

  @inlinable package var isPseudo: Bool { rawValue >= Self.method.rawValue && rawValue <= Self.protocol.rawValue }

  /// Fields that belong to one connection and must not be forwarded (RFC 9110 §7.6.1).
  @inlinable package var isHopByHop: Bool {
    switch self {
    case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .te, .trailer: true
    case .proxyAuthenticate, .proxyAuthorization, .targetForm: true
    default: false
    }
  }

  /// The name as it stands on the wire, in lower case.
  package var name: StaticString {
    switch self {
    case .other: ""
    case .method: ":method"
    case .scheme: ":scheme"
    case .authority: ":authority"
    case .path: ":path"
    case .status: ":status"
    case .protocol: ":protocol"
    case .connection: "connection"
    case .keepAlive: "keep-alive"
    case .proxyConnection: "proxy-connection"
    case .transferEncoding: "transfer-encoding"
    case .upgrade: "upgrade"
    case .te: "te"
    case .accept: "accept"
    case .host: "host"
    case .contentLength: "content-length"
    case .trailer: "trailer"
    case .via: "via"
    case .expect: "expect"
    case .date: "date"
    case .server: "server"
    case .priority: "priority"
    case .forwarded: "forwarded"
    case .proxyStatus: "proxy-status"
    case .contentType: "content-type"
    case .cookie: "cookie"
    case .maxForwards: "max-forwards"
    case .proxyAuthenticate: "proxy-authenticate"
    case .proxyAuthorization: "proxy-authorization"
    case .secWebSocketKey: "sec-websocket-key"
    case .secWebSocketAccept: "sec-websocket-accept"
    case .secWebSocketVersion: "sec-websocket-version"
    case .origin: "origin"
    case .referer: "referer"
    case .secFetchSite: "sec-fetch-site"
    case .secFetchDest: "sec-fetch-dest"
    case .userAgent: "user-agent"
    case .traceparent: "traceparent"
    case .tracestate: "tracestate"
    case .targetForm: "byway-target-form"
    }
  }

  /// Classifies a name that is already in lower case.
  package init(lowercased name: UnsafeRawBufferPointer) {
    // Length and first byte leave one candidate, compared whole; a third byte where they do not.
    switch (name.count, name.first) {
    case (2, UInt8(ascii: "t")): self = Self.match(name, .te)
    case (3, UInt8(ascii: "v")): self = Self.match(name, .via)
    case (4, UInt8(ascii: "h")): self = Self.match(name, .host)
    case (4, UInt8(ascii: "d")): self = Self.match(name, .date)
    case (5, UInt8(ascii: ":")): self = Self.match(name, .path)
    case (6, UInt8(ascii: "a")): self = Self.match(name, .accept)
    case (6, UInt8(ascii: "c")): self = Self.match(name, .cookie)
    case (6, UInt8(ascii: "e")): self = Self.match(name, .expect)
    case (6, UInt8(ascii: "o")): self = Self.match(name, .origin)
    case (6, UInt8(ascii: "s")): self = Self.match(name, .server)
    case (7, UInt8(ascii: ":")):
      switch name[2] {
      case UInt8(ascii: "e"): self = Self.match(name, .method)
      case UInt8(ascii: "c"): self = Self.match(name, .scheme)
      default: self = Self.match(name, .status)
      }
    case (7, UInt8(ascii: "u")): self = Self.match(name, .upgrade)
    case (7, UInt8(ascii: "r")): self = Self.match(name, .referer)
    case (7, UInt8(ascii: "t")): self = Self.match(name, .trailer)
    case (8, UInt8(ascii: "p")): self = Self.match(name, .priority)
    case (9, UInt8(ascii: ":")): self = Self.match(name, .protocol)
    case (9, UInt8(ascii: "f")): self = Self.match(name, .forwarded)
    case (10, UInt8(ascii: ":")): self = Self.match(name, .authority)
    case (10, UInt8(ascii: "c")): self = Self.match(name, .connection)
    case (10, UInt8(ascii: "k")): self = Self.match(name, .keepAlive)
    case (10, UInt8(ascii: "u")): self = Self.match(name, .userAgent)
    case (10, UInt8(ascii: "t")): self = Self.match(name, .tracestate)
    case (11, UInt8(ascii: "t")): self = Self.match(name, .traceparent)
    case (12, UInt8(ascii: "c")): self = Self.match(name, .contentType)
    case (12, UInt8(ascii: "m")): self = Self.match(name, .maxForwards)
    case (12, UInt8(ascii: "p")): self = Self.match(name, .proxyStatus)
    case (14, UInt8(ascii: "c")): self = Self.match(name, .contentLength)
    case (14, UInt8(ascii: "s")):
      self = Self.match(name, name[10] == UInt8(ascii: "s") ? .secFetchSite : .secFetchDest)
    case (16, UInt8(ascii: "p")): self = Self.match(name, .proxyConnection)
    case (17, UInt8(ascii: "t")): self = Self.match(name, .transferEncoding)
    case (17, UInt8(ascii: "s")): self = Self.match(name, .secWebSocketKey)
    case (17, UInt8(ascii: "b")): self = Self.match(name, .targetForm)
    case (18, UInt8(ascii: "p")): self = Self.match(name, .proxyAuthenticate)
    case (19, UInt8(ascii: "p")): self = Self.match(name, .proxyAuthorization)
    case (20, UInt8(ascii: "s")): self = Self.match(name, .secWebSocketAccept)
    case (21, UInt8(ascii: "s")): self = Self.match(name, .secWebSocketVersion)
    default: self = .other
    }
  }

  private static func match(_ name: UnsafeRawBufferPointer, _ candidate: KnownField) -> KnownField {
    name.equals(candidate.name) ? candidate : .other
  }
}
