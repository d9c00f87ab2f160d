/// origin.py: an origin of many moods. What its paths do stands in that script's own files.
package final class OriginServer: Sendable {
  package let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameters:
  ///   - dropAfter: closes each connection after that many answers, unannounced; 0 for never.
  ///   - options: others of origin.py.
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
