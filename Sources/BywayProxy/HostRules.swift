import Byway
import BywayDevices
import BywayHTTPWire

/// Keeps web pages from reaching the device behind the user's back.
///
/// A page of `evil.example` may make that name resolve to 127.0.0.1 and then talk to this proxy as if to its own server:
/// DNS rebinding. It cannot change the Host that the browser sends, so a request in origin form must name this proxy. A page may
/// also use the proxy's right name; then ``PageRules`` check the origin that the browser reports.
///
/// A request in absolute form and CONNECT come from clients configured to use this proxy: the gateway judges their
/// targets. A device's name means the device in every form.
struct HostRules: Sendable {
  /// The names of this proxy. A name without a port matches every port.
  private let names: [Authority]
  /// The names of devices; `nil` if no device has a name.
  private let devices: DeviceHosts?

  /// - Parameters:
  ///   - names: `HOST` or `HOST:PORT`, besides the loopback names and addresses.
  ///   - devices: the names that belong to devices.
  /// - Throws: `BywayError` with code `invalidAddress`.
  init(names: [String], devices: DeviceHosts? = nil) throws {
    self.devices = devices
    self.names = try Self.read(names)
  }

  /// Reads names of a proxy.
  /// - Throws: `BywayError` with code `invalidAddress`.
  static func read(_ names: [String]) throws -> [Authority] {
    try names.map { name in
      do throws(AuthorityFlaw) { return try Authority(name) } catch {
        throw BywayError(.invalidAddress, place: name, error)
      }
    }
  }

  /// Determines the target of a request.
  /// - Parameters:
  ///   - port: the port on which this proxy listens, if it is known.
  ///   - isGuarded: whether web pages may send requests here. If they cannot, a request may name any host.
  /// - Throws: the reason for not answering the request.
  func target(
    of request: inout ExchangeHead, port: Int?, isGuarded: Bool = true
  ) throws(BywayError) -> ProxyTarget {
    if devices == nil, request.kind == .connect { return .elsewhere }
    let named = request.authority
    if let named, let meaning = meaning(of: named) {
      // A client that uses this proxy as a proxy to the device means the device itself.
      request.remove(.targetForm)
      switch meaning {
      case .device(let name): return .device(name)
      case .frontPage: return .frontPage
      case .notAName(let text): throw DeviceDirectory.unknown(text, among: [], at: named.port)
      }
    }
    if request.kind == .connect { return .elsewhere }
    if request.isAbsolute {
      // The proxy's own address means its default device.
      guard let port, let named, namesThisProxy(request, named, port: port) else { return .elsewhere }
      request.remove(.targetForm)
      return .proxy
    }
    if let named, isOwn(named, isSecret: request.scheme == .https) { return .proxy }
    let authority = request.fields.value(of: .authority) ?? ""
    if isGuarded { throw Self.misdirected(authority) }
    // A client of HTTP/1.0 may name no host: the default that RFC 9112 §3.3 leaves to the server.
    if authority.isEmpty, !request.fields.contains(.authority) { request.append(.authority, "localhost") }
    return .proxy
  }

  /// The device that an authority names, or the list of devices; `nil` if it names neither.
  func meaning(of named: Authority) -> DeviceHosts.Meaning? { devices?.meaning(of: named) }

  /// - Parameter isSecret: whether TLS was terminated here.
  func isOwn(_ named: Authority, isSecret: Bool = false) -> Bool {
    named.host.isLoopback
      || names.contains { name in
        name.host == named.host && (name.port == nil || name.port == named.port(for: isSecret ? "https" : "http"))
      }
  }

  private func namesThisProxy(_ request: ExchangeHead, _ named: Authority, port: Int) -> Bool {
    request.scheme == .http && isOwn(named) && named.port(for: "http").map(Int.init) == port
  }

  private static func misdirected(_ authority: String) -> BywayError {
    if authority.isEmpty {
      return BywayError(
        .misdirected,
        "The request has no Host, and this proxy answers only for its own names: use 127.0.0.1 or localhost.",
        processing: .none)
    }
    return BywayError(.misdirected, advice: .allowHost(authority), processing: .none) { advice in
      "This proxy does not answer for \"\(authority)\": use 127.0.0.1 or localhost, or \(advice)."
    }
  }
}
