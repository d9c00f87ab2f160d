import Byway
import HTTPWire

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
/// in absolute form through a proxy, or by an authority that an exact `--allow` rule names.
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

  func target(of request: FieldSection) throws(BywayError) -> Target {
    let isConnect = request.withValue(of: .method) { $0.equals("CONNECT") } ?? false
    if isConnect, !request.contains(.protocol) { return try tunnel(to: request.value(of: .authority) ?? "") }

    // The usual case: no rule can send the request elsewhere.
    let isForwarding = request.contains(.targetForm)
    if !isForwarding, allowed.isEmpty || !request.contains(.authority) { return .origin }

    let text = request.value(of: .scheme)?.lowercased() ?? "http"
    guard let scheme = Target.Scheme(rawValue: text) else {
      // A custom scheme may lead to the origin over a link; other servers are reached by http and https only (RFC 9110 §7.4).
      if !isForwarding { return .origin }
      throw BywayError(
        .invalidRequest, "Only http and https are served here, but the URL begins with \(text): write http://.",
        processing: .none)
    }
    let named = try read(request.value(of: .authority) ?? "")
    let port = named.port ?? (scheme == .https ? 443 : 80)
    if let origin, origin == Authority(named.host, port: port) { return .origin }
    let isAllowed = allowed.contains { $0.permits(named.host, port: port) && (isForwarding || $0.isExact) }
    if isAllowed { return .server(scheme: scheme, host: named.host, port: port) }
    if !isForwarding { return .origin }
    throw forbidden(Authority(named.host, port: port))
  }

  private func tunnel(to authority: String) throws(BywayError) -> Target {
    let named = try read(authority)
    guard let port = named.port else {
      throw BywayError(
        .invalidRequest, "CONNECT needs HOST:PORT, not \"\(authority)\" (RFC 9110 §9.3.6).", processing: .none)
    }
    guard named == origin || allowed.contains(where: { $0.permits(named.host, port: port) }) else {
      throw forbidden(named)
    }
    return .tunnel(host: named.host, port: port)
  }

  private func read(_ authority: String) throws(BywayError) -> Authority {
    do throws(AuthorityFlaw) {
      return try Authority(authority)
    } catch {
      throw BywayError(.invalidRequest, place: authority, error)
    }
  }

  private func forbidden(_ target: Authority) -> BywayError {
    BywayError(
      .forbidden, "This gateway does not reach \(target): start it with --allow \(target) if it should.",
      processing: .none)
  }
}
