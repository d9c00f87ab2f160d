import Byway
import BywayHTTPWire

/// The target of a request.
enum Target: Hashable {
  /// The gateway's own origin.
  case origin
  /// Another server, for an HTTP request.
  case server(scheme: Scheme, host: Host, port: UInt16)
  /// A port, for a tunnel of bytes (RFC 9110 §9.3.6).
  case tunnel(host: Host, port: UInt16)

  enum Scheme: String {
    case http, https
  }
}

/// The rules that decide the target of a request.
///
/// A request goes to the origin, regardless of the host that it names, unless it explicitly names another target: with CONNECT,
/// in absolute form through a proxy, or by an authority that an exact ``AllowRule`` names.
struct RoutingRules: Sendable {
  /// The origin's host and port.
  let origin: Authority?
  let originScheme: Target.Scheme
  let allowed: [AllowRule]

  init(_ configuration: GatewayConfiguration) {
    let origin = configuration.origin
    self.init(
      origin: origin.authority, originScheme: origin.speaksTLS ? .https : .http, allowed: configuration.allowed)
  }

  init(origin: Authority?, originScheme: Target.Scheme = .http, allowed: [AllowRule]) {
    self.origin = origin
    self.originScheme = originScheme
    self.allowed = allowed
  }

  func target(of request: borrowing ExchangeHead) throws(BywayError) -> Target {
    if request.kind == .connect { return try tunnel(to: request.requiredAuthority(), of: request) }

    // The usual case: no rule can send the request elsewhere.
    let isForwarding = request.isAbsolute
    if !isForwarding, allowed.isEmpty || !request.fields.contains(.authority) { return .origin }

    let scheme: Target.Scheme
    switch request.scheme {
    case .http, nil: scheme = .http
    case .https: scheme = .https
    case .other:
      // A custom scheme may lead to the origin over a link; other servers are reached by http and https only (RFC 9110 §7.4).
      if !isForwarding { return .origin }
      throw BywayError(
        .invalidRequest,
        "Only http and https are served here, but the URL begins with \(request.schemeName): write http://.",
        processing: .none)
    }
    let named = try request.requiredAuthority()
    let port = named.port ?? (scheme == .https ? 443 : 80)
    if let origin, origin == Authority(named.host, port: port) { return .origin }
    let isAllowed = allowed.contains { $0.permits(named.host, port: port) && (isForwarding || $0.isExact) }
    if isAllowed { return .server(scheme: scheme, host: named.host, port: port) }
    if !isForwarding { return .origin }
    throw forbidden(Authority(named.host, port: port))
  }

  private func tunnel(to named: Authority, of request: borrowing ExchangeHead) throws(BywayError) -> Target {
    guard let port = named.port else {
      let authority = request.fields.value(of: .authority) ?? ""
      throw BywayError(
        .invalidRequest, "CONNECT needs HOST:PORT, not \"\(authority)\" (RFC 9110 §9.3.6).", processing: .none)
    }
    guard named == origin || allowed.contains(where: { $0.permits(named.host, port: port) }) else {
      throw forbidden(named)
    }
    return .tunnel(host: named.host, port: port)
  }

  private func forbidden(_ target: Authority) -> BywayError {
    BywayError(.forbidden, advice: .allow("\(target)"), processing: .none) { advice in
      "This gateway does not reach \(target): \(advice)."
    }
  }
}
