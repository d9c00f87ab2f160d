import Byway
import HTTPWire

/// Keeps web pages from reaching the device behind the user's back.
///
/// A page of `evil.example` may make that name resolve to 127.0.0.1 and then talk to this proxy as if to its own server:
/// DNS rebinding. What it cannot change is the Host that its browser sends, so a request in origin form must name this
/// proxy. A page may also use the proxy's right name; then ``PageRules`` ask the browser where the page is from.
///
/// A request in absolute form and CONNECT come from clients that were told to use this proxy: the gateway judges their
/// targets. A device's name means the device in every form.
struct HostRules: Sendable {
  /// Without a port: at any.
  private let names: [Authority]
  /// Where no device has a name, `nil`.
  private let devices: DeviceHosts?

  /// - Parameters:
  ///   - names: `HOST` or `HOST:PORT`, besides the loopback names and addresses.
  ///   - devices: beneath which names are devices'.
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

  /// - Parameters:
  ///   - port: where this proxy listens, if that is known.
  ///   - isGuarded: web pages may be among those who ask. Where they cannot be, a request may name any host.
  /// - Throws: why the request is not answered.
  func addressee(
    of request: inout FieldSection, port: Int?, isGuarded: Bool = true
  ) throws(BywayError) -> Addressee {
    if devices == nil, request.asksForTunnel { return .elsewhere }
    let named = request.withValue(of: .authority) { try? Authority($0) } ?? nil
    if let named, let meaning = meaning(of: named) {
      // Whoever takes this for a proxy to the device means the device.
      request.remove(.targetForm)
      switch meaning {
      case .device(let name): return .device(name)
      case .frontPage: return .frontPage
      case .notAName(let text): throw DeviceDirectory.unknown(text, among: [])
      }
    }
    if request.asksForTunnel { return .elsewhere }
    if request.contains(.targetForm) {
      // Under its own address the proxy means what stands behind it.
      guard let port, let named, namesThisProxy(request, named, port: port) else { return .elsewhere }
      request.remove(.targetForm)
      return .proxy
    }
    if let named, isOwn(named, isSecret: request.isSecret) { return .proxy }
    let authority = request.value(of: .authority) ?? ""
    if isGuarded { throw Self.misdirected(authority) }
    // A client of HTTP/1.0 may name no host: the default that RFC 9112 §3.3 leaves to the server.
    if authority.isEmpty, !request.contains(.authority) { request.append(.authority, "localhost") }
    return .proxy
  }

  /// As a device, or the list of them.
  func meaning(of named: Authority) -> DeviceHosts.Meaning? { devices?.meaning(of: named) }

  /// - Parameter isSecret: TLS has ended here.
  func isOwn(_ named: Authority, isSecret: Bool = false) -> Bool {
    named.host.isLoopback
      || names.contains { name in
        name.host == named.host && (name.port == nil || name.port == named.port(for: isSecret ? "https" : "http"))
      }
  }

  private func namesThisProxy(_ request: FieldSection, _ named: Authority, port: Int) -> Bool {
    guard let scheme = request.value(of: .scheme), scheme.lowercased() == "http" else { return false }
    return isOwn(named) && named.port(for: "http").map(Int.init) == port
  }

  private static func misdirected(_ authority: String) -> BywayError {
    let advice = "use 127.0.0.1 or localhost, or start it with --name"
    let message =
      authority.isEmpty
      ? "The request has no Host, and this proxy answers only for its own names: \(advice)."
      : "This proxy does not answer for \"\(authority)\": \(advice) \(authority) if it should."
    return BywayError(.misdirected, message, processing: .none)
  }
}
