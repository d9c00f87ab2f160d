import Foundation

/// The scripts in Tests/Support. Each client prints its observations as one JSON object.
package enum Script: String, Sendable {
  /// An HTTP/1.1 and WebSocket client, standard library only.
  case http1 = "h1client.py"
  /// An HTTP/2 client with the stock `h2` package.
  case http2 = "h2client.py"
  /// A gRPC service and its client, with the stock `grpcio` package.
  case grpc = "grpc_peer.py"
  /// An origin that checks the host name of requests.
  case strict = "strict_origin.py"
  /// A hostile HTTP/2 client that composes frames itself.
  case raw = "h2raw.py"
  /// A runner of commands on a terminal, which presses keys.
  case terminal = "terminal.py"

  /// A machine with a login at its serial console.
  case console = "console.py"

  /// Podman's service and its clients.
  case containers = "containers.py"
  /// kubectl and its API server, limited to the upgrade to SPDY.
  case spdy = "spdy_peer.py"

  /// A runner of commands in a separate network with Avahi.
  case lan = "lan.py"

  /// Runs the script and decodes its output.
  package func run<Answer: Decodable>(
    _ arguments: String..., as type: Answer.Type = Answer.self, within limit: Duration = .seconds(60)
  ) async throws -> Answer {
    try await run(arguments, as: type, within: limit)
  }

  package func run<Answer: Decodable>(
    _ arguments: [String], as type: Answer.Type = Answer.self, within limit: Duration = .seconds(60)
  ) async throws -> Answer {
    let result = try await Program.python.run(
      [Program.script(rawValue)] + arguments, within: limit, environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    do {
      return try JSONDecoder().decode(type, from: result.output)
    } catch {
      throw PeerFailure("\(rawValue) \(arguments) ended with \(result.exitCode): \(result.text) \(result.errorText)")
    }
  }

  /// Starts the script without waiting for its end.
  package func start(_ arguments: String...) throws -> ChildProcess {
    try start(arguments)
  }

  package func start(_ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(
      Program.python.path(), [Program.script(rawValue)] + arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"])
  }
}
