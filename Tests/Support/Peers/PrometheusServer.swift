import Foundation
package import TestTools

/// Debian's Prometheus, set to scrape every second.
package final class PrometheusServer: Sendable {
  private let endpoint: Endpoint
  private let process: ChildProcess

  /// - Parameter targets: each `HOST:PORT`, whose `/metrics` is scraped.
  package init(in folder: TemporaryFolder, targets: [String]) async throws {
    endpoint = try .tcp(Endpoint.freePort())
    let configuration = try folder.write(
      """
      global:
        scrape_interval: 1s
        scrape_timeout: 1s
      scrape_configs:
        - job_name: byway
          static_configs:
            - targets: [\(targets.map { "'\($0)'" }.joined(separator: ", "))]

      """, to: "prometheus.yml")
    process = try ChildProcess(
      Program.prometheus.path(),
      [
        "--config.file=\(configuration)", "--storage.tsdb.path=\(folder["prometheus"])",
        "--web.listen-address=\(endpoint)",
        "--log.level=warn",
      ])
    try await endpoint.waitUntilReachable(by: process)
    // Prometheus listens before it answers.
    let isReady = try await eventually { [endpoint] in
      try await Curl.fetch("http://\(endpoint)/-/ready").status == 200
    }
    if !isReady { throw PeerFailure("Prometheus is not ready: \(process.errorText)") }
  }

  /// Returns the values of an expression by their labels; empty if nothing was scraped yet.
  package func values(of expression: String) async throws -> [[String: String]: Double] {
    let text = try await Curl.fetch("-G", "--data-urlencode", "query=\(expression)", "http://\(endpoint)/api/v1/query")
    let answer = try text.json(Answer.self)
    return Dictionary(answer.data.result.map { ($0.metric, $0.value.number) }) { first, _ in first }
  }

  package func stop() async {
    await process.stop()
  }

  private struct Answer: Decodable {
    struct Content: Decodable { let result: [Row] }
    struct Row: Decodable {
      let metric: [String: String]
      let value: Sample
    }
    /// A time and a number as text.
    struct Sample: Decodable {
      let number: Double

      init(from decoder: any Decoder) throws {
        var values = try decoder.unkeyedContainer()
        _ = try values.decode(Double.self)
        number = Double(try values.decode(String.self)) ?? .nan
      }
    }
    let data: Content
  }
}
