package import TestTools

/// HAProxy in front of HTTP/2 upstreams, as in front of a fleet of gateways.
package final class HaproxyServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// Listens on TCP, HTTP/1.1 and h2c, and forwards to `upstreams` with HTTP/2 by prior knowledge.
  package init(in folder: TemporaryFolder, upstreams: [Endpoint]) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    let servers = upstreams.enumerated().map { number, upstream in
      switch upstream {
      case .unix(let path): "  server s\(number) unix@\(path) proto h2"
      case .tcp: "  server s\(number) \(upstream) proto h2"
      }
    }
    let configuration = try folder.write(
      """
      global
        nbthread 1
      defaults
        mode http
        timeout connect 5s
        timeout client 30s
        timeout server 30s
      frontend front
        bind \(endpoint)
        default_backend gateways
      backend gateways
      \(servers.joined(separator: "\n"))

      """, to: "haproxy.cfg")
    process = try ChildProcess(Program.haproxy.path(), ["-db", "-f", configuration])
    try await endpoint.waitUntilReachable(by: process)
  }

  package func stop() async {
    await process.stop()
  }
}
