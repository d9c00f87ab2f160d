import Byway
import HTTPWire

/// What is asked of each request where web pages may be among those who come.
struct IngressRules: Sendable {
  let hosts: HostRules
  let pages: PageRules

  /// - Parameter port: where this proxy listens, if that is known.
  /// - Returns: for whom it is.
  /// - Throws: why the request is not answered.
  @discardableResult
  func admit(_ request: inout FieldSection, port: Int?) throws(BywayError) -> Addressee {
    let addressee = try hosts.addressee(of: &request, port: port)
    // A tunnel's page is known only inside it: ``GuardedTunnel`` looks there.
    if request.asksForTunnel { return addressee }
    let scheme = request.value(of: .scheme) ?? "http"
    let authority = request.value(of: .authority).flatMap { try? Authority($0) }
    try pages.admit(request, to: authority.map { PageOrigin(scheme: scheme, $0) })
    return addressee
  }
}
