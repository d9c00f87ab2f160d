import BywayHTTPWire
import BywayMetrics
import BywayPrometheusText
import NIOCore
import Testing

@testable import Byway

@Suite("Counter of repeated requests") struct ResendMetricsTests {
  @Test("only the attempts after the first count as repetitions", arguments: [(0, nil), (1, nil), (2, 1), (3, 2)])
  func resends(_ attempts: Int, _ count: Int?) {
    let registry = PrometheusRegistry.of(MetricName.all)
    let metrics = HTTPMetrics(factory: registry)
    let head: FieldSection = [":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/"]
    var record = ExchangeRecord(listener: "unix:/l", version: .http2, head: head, trace: nil, begun: .now())
    metrics.exchangeBegan(record)
    if attempts > 0 {
      (record.sent, record.upstream, record.attempts) = (.now(), "http://127.0.0.1:1", attempts)
      metrics.exchangeSent(record)
    }
    (record.ended, record.status) = (.now(), 200)
    metrics.exchangeEnded(record)
    let text = String(decoding: registry.text(), as: UTF8.self)
    let counts = text.split(separator: "\n").filter { $0.hasPrefix("byway_http_request_resends_total{") }
      .compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }
    #expect(counts.filter { $0 > 0 } == [count].compactMap(\.self), "\(text)")
  }
}
