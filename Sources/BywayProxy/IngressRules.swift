import Byway
import HTTPWire

/// What is asked of each request where web pages may be among those who come.
struct IngressRules: Sendable {
  let hosts: HostRules
  let pages: PageRules

  /// - Parameters:
  ///   - port: where this proxy listens, if that is known.
  ///   - namesCount: a request may not name any host.
  ///   - pagesCount: it may be a web page's doing.
  /// - Returns: for whom it is.
  /// - Throws: why the request is not answered.
  @discardableResult
  func admit(
    _ request: inout FieldSection, port: Int?, namesCount: Bool = true, pagesCount: Bool = true
  ) throws(BywayError) -> Addressee {
    let addressee = try hosts.addressee(of: &request, port: port, isGuarded: namesCount)
    // A tunnel's page is known only inside it: ``GuardedTunnel`` looks there.
    if !pagesCount || request.asksForTunnel { return addressee }
    let scheme = request.value(of: .scheme) ?? "http"
    let authority = request.value(of: .authority).flatMap { try? Authority($0) }
    try pages.admit(request, to: authority.map { PageOrigin(scheme: scheme, $0) })
    return addressee
  }
}
