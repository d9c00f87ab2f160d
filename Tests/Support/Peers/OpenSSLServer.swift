/// An `openssl s_server` that answers every GET with a page about the connection. It aborts the handshake of clients without
/// a certificate from an authority.
package final class OpenSSLServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameter clientAuthority: the authority's certificate.
  package init(_ identity: Certificates.Identity, clientAuthority: String) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    process = try ChildProcess(
      Program.openssl.path(),
      ["s_server", "-accept", "\(endpoint)", "-cert", identity.cert, "-key", identity.key, "-www", "-quiet"]
        + ["-Verify", "1", "-verify_return_error", "-CAfile", clientAuthority])
    try await endpoint.waitUntilReachable(by: process)
  }

  package func stop() async {
    await process.stop()
  }
}
