/// websocket_server.py: echoes messages; its own head says what else.
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

  /// What it makes of the end of a connection, in words.
  package func closing() async throws -> String {
    try await process.outputLine(containing: "closed ", within: .seconds(10))
  }

  package func stop() async {
    await process.stop()
  }
}
