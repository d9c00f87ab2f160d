/// A WebSocket echo server, by websocket_server.py, whose head describes further behavior.
package final class WebSocketServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  package init(tls: Certificates.Identity? = nil) async throws {
    process = try ChildProcess(
      Program.python.path(),
      [Program.script("websocket_server.py")] + (tls.map { ["--cert", $0.cert, "--key", $0.key] } ?? []),
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    let line = try await process.outputLine(containing: "ready ", within: .seconds(10))
    guard let port = Int(line.dropFirst("ready ".count)) else { throw PeerFailure("websocket_server.py said: \(line)") }
    endpoint = .tcp(port)
  }

  /// Returns the server's description of how a connection ended.
  package func closing() async throws -> String {
    try await process.outputLine(containing: "closed ", within: .seconds(10))
  }

  package func stop() async {
    await process.stop()
  }
}
