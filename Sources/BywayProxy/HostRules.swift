import Byway
import HTTPWire

/// Keeps web pages from reaching the device behind the user's back.
///
/// A page of `evil.example` may make that name resolve to 127.0.0.1 and then talk to this proxy as if to its own server:
/// DNS rebinding. What it cannot change is the Host that its browser sends, so a request in origin form must name this
/// proxy. A page may also use the proxy's right name; then ``PageRules`` ask the browser where the page is from.
///
/// A request in absolute form and CONNECT come from clients that were told to use this proxy: the gateway judges their
/// targets.
struct HostRules: Sendable {
  /// Without a port: at any.
  private let names: [Authority]

  /// - Parameter names: `HOST` or `HOST:PORT`, besides the loopback names and addresses.
  /// - Throws: `BywayError` with code `invalidAddress`.
  init(names: [String]) throws {
    self.names = try names.map { name in
      do throws(AuthorityFlaw) { return try Authority(name) } catch {
        throw BywayError(.invalidAddress, place: name, error)
      }
    }
  }

  /// - Parameter port: where this proxy listens, if that is known.
  /// - Throws: why the request is not answered.
  func admit(_ request: inout FieldSection, port: Int?) throws(BywayError) {
    if request.contains(.targetForm) {
      // Under its own address the proxy means what stands behind it.
      if let port, namesThisProxy(request, port: port) { request.remove(.targetForm) }
      return
    }
    if request.asksForTunnel { return }
    let authority = request.value(of: .authority) ?? ""
    guard let named = try? Authority(authority), isOwn(named) else { throw Self.misdirected(authority) }
  }

  func isOwn(_ named: Authority) -> Bool {
    named.host.isLoopback
      || names.contains { $0.host == named.host && ($0.port == nil || $0.port == named.port(for: "http")) }
  }

  private func namesThisProxy(_ request: FieldSection, port: Int) -> Bool {
    guard let scheme = request.value(of: .scheme), scheme.lowercased() == "http",
      let named = request.value(of: .authority).flatMap({ try? Authority($0) })
    else { return false }
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
