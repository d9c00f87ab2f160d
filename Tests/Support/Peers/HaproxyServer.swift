package import TestTools

/// HAProxy in front of HTTP/2 upstreams, as in front of a fleet of gateways.
package final class HaproxyServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// Listens on TCP, HTTP/1.1 and h2c, and forwards to `upstreams` with HTTP/2 by prior knowledge.
  package init(in folder: TemporaryFolder, upstreams: [Endpoint]) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    let servers = upstreams.map { upstream in
      switch upstream {
      case .unix(let path): "unix@\(path) proto h2"
      case .tcp: "\(upstream) proto h2"
      }
    }
    process = try Self.start(in: folder, at: "\(endpoint)", servers: servers)
    try await endpoint.waitUntilReachable(by: process)
  }

  /// Starts HAProxy.
  /// - Parameters:
  ///   - place: what it binds to, with options.
  ///   - servers: the addresses that it forwards to, with options.
  package static func start(
    in folder: TemporaryFolder, at place: String, servers: [String]
  ) throws -> ChildProcess {
    let servers = servers.enumerated().map { number, server in "  server s\(number) \(server)" }
    let configuration = try folder.write(
      """
      global
        nbthread 1
      defaults
        mode http
        timeout connect 5s
        timeout client 30s
        timeout server 30s
        timeout tunnel 1h
      frontend front
        bind \(place)
        default_backend servers
      backend servers
      \(servers.joined(separator: "\n"))

      """, to: "haproxy.cfg")
    return try ChildProcess(Program.haproxy.path(), ["-db", "-f", configuration])
  }

  package func stop() async {
    await process.stop()
  }
}
