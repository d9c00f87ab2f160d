import BywayMetrics
import BywayPrometheusText
import CoreMetrics
import Foundation
import Testing

/// Documentation, dashboard and alerts use existing metrics.
@Suite struct MetricNameTests {
  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func text(_ path: String) throws -> String {
    try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
  }

  /// Returns a metric's name in Prometheus.
  private static func name(of metric: MetricName) -> String {
    let registry = PrometheusRegistry.of([metric])
    switch metric.kind {
    case .counter: Counter(label: metric.label, factory: registry).increment()
    case .gauge: Meter(label: metric.label, factory: registry).set(1)
    case .timer: Timer(label: metric.label, factory: registry).recordSeconds(1)
    case .sizes: Recorder(label: metric.label, factory: registry).record(1)
    }
    let text = String(decoding: registry.text(), as: UTF8.self)
    return text.firstMatch(of: #/# TYPE (\S+) /#).map { String($0.1) } ?? ""
  }

  @Test("the documentation lists every metric with its attributes and meaning, and no others")
  func documented() throws {
    let expected = MetricName.all.map { metric in
      let attributes = metric.attributes.map { "`\($0)`" }.joined(separator: ", ")
      return "| `\(metric.label)` | `\(Self.name(of: metric))` | \(attributes) | \(metric.meaning) |"
    }
    let rows = try text("docs/observability.md").split(separator: "\n").filter {
      // The names of metrics have dots.
      $0.contains(#/^\| `\w+\./#)
    }
    #expect(rows.map(String.init) == expected, "\n\(expected.joined(separator: "\n"))\n")
  }

  @Test(
    "dashboard and alerts use existing metrics only",
    arguments: ["packaging/prometheus/dashboard.json", "packaging/prometheus/alerts.yml"])
  func named(path: String) throws {
    var known: Set<String> = []
    for metric in MetricName.all {
      let name = Self.name(of: metric)
      let isHistogram = metric.kind == .timer || metric.kind == .sizes
      known.formUnion(isHistogram ? ["bucket", "sum", "count"].map { "\(name)_\($0)" } : [name])
      // Descriptions use this name.
      known.insert(name)
    }
    let attributes = Set(MetricName.all.flatMap(\.attributes).map { $0.replacing(".", with: "_") })
    let names = try Set(text(path).matches(of: #/\b(?:http|byway|process)_[a-z_]+/#).map { String($0.0) })
    #expect(names.count > 5 && names.subtracting(known).subtracting(attributes).isEmpty, "\(names.subtracting(known))")
  }

  @Test("the alert on open files comes shortly before the limit of the units")
  func descriptors() throws {
    let alert = try text("packaging/prometheus/alerts.yml").firstMatch(of: #/process_open_fds{[^}]*} > ([0-9]+)/#)
    let unit = try text("packaging/systemd/byway-.service.d/10-byway.conf").firstMatch(of: #/LimitNOFILE=([0-9]+)/#)
    let (limit, allowed) = (try #require(alert.flatMap { Int($0.1) }), try #require(unit.flatMap { Int($0.1) }))
    #expect((allowed * 3 / 4..<allowed * 9 / 10).contains(limit))
  }

  @Test("names and labels follow OpenTelemetry in Prometheus's spelling")
  func spelled() {
    #expect(Self.name(of: .serverDuration) == "http_server_request_duration_seconds")
    #expect(Self.name(of: .serverActive) == "http_server_active_requests")
    #expect(Self.name(of: .serverResponseSize) == "http_server_response_body_size_bytes")
    #expect(Self.name(of: .clientDuration) == "http_client_request_duration_seconds")
    #expect(Self.name(of: .processorTime) == "process_cpu_seconds_total")
    #expect(
      MetricName.serverDuration.buckets == [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10])
    #expect(Set(MetricName.all.map(\.label)).count == MetricName.all.count)
  }
}
