import Byway
import BywayHTTPWire

/// The rules for requests where web pages may be among the clients.
struct IngressRules: Sendable {
  let hosts: HostRules
  let pages: PageRules

  /// Applies the rules to a request.
  /// - Parameters:
  ///   - port: the port on which this proxy listens, if it is known.
  ///   - namesCount: whether the request must name this proxy or a device.
  ///   - pagesCount: whether a web page may have caused the request.
  /// - Returns: its target.
  /// - Throws: the reason for not answering the request.
  @discardableResult
  func admit(
    _ request: inout ExchangeHead, port: Int?, namesCount: Bool = true, pagesCount: Bool = true
  ) throws(BywayError) -> ProxyTarget {
    let proxyTarget = try hosts.target(of: &request, port: port, isGuarded: namesCount)
    // A tunnel's page is known only inside it: ``TunnelPageGuard`` looks there.
    if !pagesCount || request.kind == .connect { return proxyTarget }
    let scheme = request.schemeName
    try pages.admit(request.fields, to: request.authority.map { PageOrigin(scheme: scheme, $0) })
    return proxyTarget
  }
}
