/// The field names that a hop examines. All others are ``other``, and are forwarded unread.
///
/// A section classifies each name once, when the line is appended, so that later filters only switch over one byte.
@usableFromInline
package enum KnownField: UInt8, Sendable, CaseIterable {
  case other

  // Pseudo-header fields, RFC 9113 §8.3 and RFC 8441 §4.
  case method, scheme, authority, path, status, `protocol`

  // Connection-specific fields, RFC 9110 §7.6.1 and RFC 9113 §8.2.2.
  case connection, keepAlive, proxyConnection, transferEncoding, upgrade, te

  // Fields that a hop reads, sets or checks.
  case accept
  case host, contentLength, trailer, via, expect, date, server, priority, forwarded, proxyStatus, contentType
  case cookie, setCookie
  /// W3C Clear Site Data.
  case clearSiteData
  case maxForwards
  case proxyAuthenticate, proxyAuthorization
  case secWebSocketKey, secWebSocketAccept, secWebSocketVersion
  case origin, referer, secFetchSite, secFetchDest
  case userAgent
  /// W3C Trace Context.
  case traceparent, tracestate

  /// Marks a request that a local client sent in absolute form (RFC 9112 §3.2.2): docs/architecture.md gives the reason.
  case targetForm

  /// The fields of an extended CONNECT between two hops of Byway, for an upgrade to a protocol other than WebSocket:
  /// docs/upgrades.md.
  ///
  /// They contain the method of the request, the length of the content before the tunnel, and the status of a response that
  /// opens no tunnel.
  case upgradeMethod, upgradeLength, upgradeStatus

  @inlinable package var isPseudo: Bool { rawValue >= Self.method.rawValue && rawValue <= Self.protocol.rawValue }

  /// Whether the field belongs to one connection and must not be forwarded (RFC 9110 §7.6.1).
  @inlinable package var isHopByHop: Bool {
    switch self {
    case .connection, .keepAlive, .proxyConnection, .transferEncoding, .upgrade, .te, .trailer: true
    case .proxyAuthenticate, .proxyAuthorization, .targetForm: true
    case .upgradeMethod, .upgradeLength, .upgradeStatus: true
    default: false
    }
  }

  /// The name as sent, in lower case.
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
    case .setCookie: "set-cookie"
    case .clearSiteData: "clear-site-data"
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
    case .upgradeMethod: "byway-upgrade-method"
    case .upgradeLength: "byway-upgrade-length"
    case .upgradeStatus: "byway-upgrade-status"
    }
  }

  /// Classifies a name that is already in lower case.
  package init(lowercased name: UnsafeRawBufferPointer) {
    // The length and one more byte leave a single candidate, which is then compared completely.
    let candidate: KnownField
    switch name.count {
    case 2: candidate = .te
    case 3: candidate = .via
    case 4: candidate = name[0] == UInt8(ascii: "h") ? .host : .date
    case 5: candidate = .path
    case 6:
      switch name[0] {
      case UInt8(ascii: "a"): candidate = .accept
      case UInt8(ascii: "c"): candidate = .cookie
      case UInt8(ascii: "e"): candidate = .expect
      case UInt8(ascii: "o"): candidate = .origin
      default: candidate = .server
      }
    case 7:
      switch name[2] {
      case UInt8(ascii: "e"): candidate = .method
      case UInt8(ascii: "c"): candidate = .scheme
      case UInt8(ascii: "t"): candidate = .status
      case UInt8(ascii: "g"): candidate = .upgrade
      case UInt8(ascii: "f"): candidate = .referer
      default: candidate = .trailer
      }
    case 8: candidate = .priority
    case 9: candidate = name[0] == UInt8(ascii: ":") ? .protocol : .forwarded
    case 10:
      switch name[0] {
      case UInt8(ascii: ":"): candidate = .authority
      case UInt8(ascii: "c"): candidate = .connection
      case UInt8(ascii: "k"): candidate = .keepAlive
      case UInt8(ascii: "s"): candidate = .setCookie
      case UInt8(ascii: "t"): candidate = .tracestate
      default: candidate = .userAgent
      }
    case 11: candidate = .traceparent
    case 12:
      switch name[0] {
      case UInt8(ascii: "c"): candidate = .contentType
      case UInt8(ascii: "m"): candidate = .maxForwards
      default: candidate = .proxyStatus
      }
    case 14:
      switch name[10] {
      case UInt8(ascii: "n"): candidate = .contentLength
      case UInt8(ascii: "s"): candidate = .secFetchSite
      default: candidate = .secFetchDest
      }
    case 15: candidate = .clearSiteData
    case 16: candidate = .proxyConnection
    case 17:
      switch name[0] {
      case UInt8(ascii: "t"): candidate = .transferEncoding
      case UInt8(ascii: "s"): candidate = .secWebSocketKey
      default: candidate = .targetForm
      }
    case 18: candidate = .proxyAuthenticate
    case 19: candidate = .proxyAuthorization
    case 20:
      switch name[14] {
      case UInt8(ascii: "a"): candidate = .secWebSocketAccept
      case UInt8(ascii: "m"): candidate = .upgradeMethod
      case UInt8(ascii: "l"): candidate = .upgradeLength
      default: candidate = .upgradeStatus
      }
    case 21: candidate = .secWebSocketVersion
    default: candidate = .other
    }
    self = candidate != .other && name.equals(candidate.name) ? candidate : .other
  }
}
