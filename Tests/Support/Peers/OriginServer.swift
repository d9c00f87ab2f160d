/// An origin with good and bad behavior, by origin.py. That script's files describe its paths.
package final class OriginServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameters:
  ///   - dropAfter: the number of responses after which it closes each connection unannounced; 0 for never.
  ///   - options: further options of origin.py.
  package init(on endpoint: Endpoint = .tcp(0), dropAfter: Int = 0, options: [String] = []) async throws {
    process = try ChildProcess(
      Program.python.path(),
      [Program.script("origin.py"), "--listen", "\(endpoint)", "--drop-after", "\(dropAfter)"] + options,
      environment: ["PYTHONDONTWRITEBYTECODE": "1"])
    let line = try await process.outputLine(containing: "ready ", within: .seconds(10))
    guard let bound = Endpoint(line.dropFirst("ready ".count)) else { throw PeerFailure("origin.py said: \(line)") }
    self.endpoint = bound
  }

  package var url: String { "http://\(endpoint)" }

  package func stop() async {
    await process.stop()
  }
}
