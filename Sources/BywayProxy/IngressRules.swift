import Byway
import HTTPWire

/// What is asked of each request where web pages may be among those who come.
struct IngressRules: Sendable {
  let hosts: HostRules
  let pages: PageRules

  /// - Parameter port: where this proxy listens, if that is known.
  /// - Throws: why the request is not answered.
  func admit(_ request: inout FieldSection, port: Int?) throws(BywayError) {
    try hosts.admit(&request, port: port)
    // A tunnel's page is known only inside it: ``GuardedTunnel`` looks there.
    if request.asksForTunnel { return }
    let scheme = request.value(of: .scheme) ?? "http"
    let authority = request.value(of: .authority).flatMap { try? Authority($0) }
    try pages.admit(request, to: authority.map { PageOrigin(scheme: scheme, $0) })
  }
}
