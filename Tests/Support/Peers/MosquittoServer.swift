import Foundation
package import TestTools

/// Debian's MQTT broker, on a port of its own.
package final class MosquittoServer: Sendable {
  package let endpoint: Endpoint
  /// The port that accepts TLS; `nil` without certificates.
  package let securePort: Int?
  package let process: ChildProcess
  private let configuration: String

  /// The port for connections without TLS.
  package var port: Int { endpoint.port ?? 0 }

  /// - Parameters:
  ///   - settings: further lines of its configuration; by default anyone may log in.
  ///   - certificates: for a second port, with TLS; its clients need certificates.
  package convenience init(
    in folder: TemporaryFolder, _ settings: String = "allow_anonymous true", certificates: Certificates? = nil
  ) async throws {
    let port = try Endpoint.freePort()
    var lines = ["user root", "log_dest stderr", "listener \(port) 127.0.0.1", settings]
    var securePort: Int?
    if let certificates {
      let port = try Endpoint.freePort()
      securePort = port
      lines += [
        "listener \(port) 127.0.0.1", "cafile \(certificates.authority)", "certfile \(certificates.server.cert)",
        "keyfile \(certificates.server.key)", "require_certificate true",
      ]
    }
    let configuration = try folder.write(lines.joined(separator: "\n") + "\n", to: "mosquitto-\(port).conf")
    try await self.init(configuration, .tcp(port), securePort)
  }

  private init(_ configuration: String, _ endpoint: Endpoint, _ securePort: Int?) async throws {
    (self.configuration, self.endpoint, self.securePort) = (configuration, endpoint, securePort)
    process = try ChildProcess(Program.mosquitto.path(), ["-c", configuration])
    try await endpoint.waitUntilReachable(by: process)
  }

  /// Starts another broker at the same port, after this one has ended.
  package func successor() async throws -> MosquittoServer {
    try await MosquittoServer(configuration, endpoint, securePort)
  }

  /// Ends the broker without a word to its clients.
  package func kill() async {
    process.send(SIGKILL)
    _ = await process.waitForExit(within: .seconds(10))
  }

  package func stop() async {
    await process.stop()
  }
}
