/// An `openssl s_server` that answers every GET with a page about the connection. It aborts the handshake of clients without
/// a certificate from an authority.
package final class OpenSSLServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameter clientAuthority: the authority's certificate.
  package convenience init(_ identity: Certificates.Identity, clientAuthority: String) async throws {
    try await self.init(
      identity, options: ["-www", "-Verify", "1", "-verify_return_error", "-CAfile", clientAuthority])
  }

  private init(_ identity: Certificates.Identity, options: [String]) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    process = try ChildProcess(
      Program.openssl.path(),
      ["s_server", "-accept", "\(endpoint)", "-cert", identity.cert, "-key", identity.key, "-quiet"] + options)
    try await endpoint.waitUntilReachable(by: process)
  }

  /// Starts a server with only old versions of TLS.
  package static func outdated(_ identity: Certificates.Identity) async throws -> OpenSSLServer {
    try await OpenSSLServer(identity, options: ["-tls1_1", "-cipher", "ALL:@SECLEVEL=0"])
  }

  package func stop() async {
    await process.stop()
  }
}
