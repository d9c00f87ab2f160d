import Byway
import HTTPWire

/// Where one request asks to go.
enum Target: Hashable {
  /// To the gateway's own origin.
  case origin
  /// To another server, as an HTTP request.
  case server(scheme: String, host: String, port: Int)
  /// To a port, as a tunnel of bytes (RFC 9110 §9.3.6).
  case tunnel(host: String, port: Int)
}

/// Decides which target a request may have.
///
/// A request reaches the origin, whatever host it names, unless it names another target on purpose: with CONNECT, in
/// absolute form through a proxy, or by an authority that an exact `--allow` rule names.
struct RoutingRules: Sendable {
  let origin: (host: String, port: Int)?
  let originScheme: String
  let allowed: [AllowRule]

  init(_ configuration: GatewayConfiguration) {
    let origin = configuration.origin
    self.init(
      origin: origin.hostPort, originScheme: origin.speaksTLS ? "https" : "http", allowed: configuration.allowed)
  }

  init(origin: (host: String, port: Int)?, originScheme: String = "http", allowed: [AllowRule]) {
    self.origin = origin
    self.originScheme = originScheme
    self.allowed = allowed
  }

  func target(of request: FieldSection) throws(BywayError) -> Target {
    let method = request.value(of: .method) ?? ""
    if method == "CONNECT", !request.contains(.protocol) { return try tunnel(to: request.value(of: .authority) ?? "") }

    // What most requests are: no rule that could send them elsewhere.
    let isForwarding = request.contains(.targetForm)
    if !isForwarding, allowed.isEmpty { return .origin }

    let scheme = request.value(of: .scheme)?.lowercased() ?? "http"
    let authority = request.value(of: .authority) ?? ""
    guard let named = LinkAddress.HostPort(authority) else {
      if !isForwarding { return .origin }
      throw BywayError(.invalidRequest, "\"\(authority)\" is no host: name one in the URL.", processing: .none)
    }
    let host = named.host.lowercased()
    let port = named.port ?? (scheme == "https" ? 443 : 80)
    if let origin, origin == (host, port) { return .origin }
    let isAllowed = allowed.contains { $0.permits(host: host, port: port) && (isForwarding || $0.isExact) }
    if isAllowed { return .server(scheme: scheme, host: host, port: port) }
    if !isForwarding { return .origin }
    throw forbidden("\(host):\(port)")
  }

  private func tunnel(to authority: String) throws(BywayError) -> Target {
    guard let named = LinkAddress.HostPort(authority), let port = named.port else {
      throw BywayError(
        .invalidRequest, "CONNECT needs HOST:PORT, not \"\(authority)\" (RFC 9110 §9.3.6).", processing: .none)
    }
    let host = named.host.lowercased()
    if let origin, origin == (host, port) { return .tunnel(host: host, port: port) }
    guard allowed.contains(where: { $0.permits(host: host, port: port) }) else { throw forbidden("\(host):\(port)") }
    return .tunnel(host: host, port: port)
  }

  private func forbidden(_ target: String) -> BywayError {
    BywayError(
      .forbidden, "This gateway does not reach \(target): start it with --allow \(target) if it should.",
      processing: .none)
  }
}
