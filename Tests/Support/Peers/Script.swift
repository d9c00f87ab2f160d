import Foundation

/// The clients in Tests/Support, each of which prints what it saw as one JSON object.
package enum Script: String, Sendable {
  /// HTTP/1.1 and WebSocket, standard library only.
  case http1 = "h1client.py"
  /// HTTP/2 with the stock `h2` package.
  case http2 = "h2client.py"
  /// A gRPC service and its client, with the stock `grpcio` package.
  case grpc = "grpc_peer.py"
  /// An origin that checks by which name it is asked.
  case strict = "strict_origin.py"
  /// HTTP/2 frames by hand, for hostile peers.
  case raw = "h2raw.py"
  /// Presses the keys of a terminal.
  case terminal = "terminal.py"

  /// Podman's service, and the clients of it.
  case containers = "containers.py"
  /// kubectl and its server, as far as they upgrade to SPDY.
  case spdy = "spdy_peer.py"

  /// A network of its own, with Avahi.
  case lan = "lan.py"

  /// Runs it and decodes its answer.
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

  /// Starts it without waiting.
  package func start(_ arguments: String...) throws -> ChildProcess {
    try ChildProcess(
      Program.python.path(), [Program.script(rawValue)] + arguments, environment: ["PYTHONDONTWRITEBYTECODE": "1"])
  }
}
