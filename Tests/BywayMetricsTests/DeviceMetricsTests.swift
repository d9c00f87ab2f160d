import BywayHTTPWire
import BywayPrometheusText
import NIOCore
import Testing

@testable import Byway
@testable import BywayMetrics

/// Metrics by device and by section of the configuration.
@Suite struct DeviceMetricsTests {
  private let registry = PrometheusRegistry.of(MetricName.all)

  private func record(
    _ metrics: HTTPMetrics, _ name: String, isConfigured: Bool, wasSent: Bool = true, status: Int = 200
  ) {
    let head: FieldSection = [":method": "GET", ":scheme": "http", ":authority": "x", ":path": "/"]
    var record = ExchangeRecord(listener: "unix:/l", version: .http2, head: head, trace: nil, begun: .now())
    metrics.exchangeBegan(record)
    record.device = .init(name, isConfigured: isConfigured)
    if wasSent {
      (record.sent, record.upstream, record.attempts) = (.now(), "unix:/device", 1)
      metrics.exchangeSent(record)
    }
    (record.ended, record.status) = (.now(), status)
    metrics.exchangeEnded(record)
  }

  /// Returns the values of an attribute of the requests' durations.
  private func values(of attribute: String, in metric: String = "http_server_request_duration_seconds_count")
    -> [String]
  {
    String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").filter { $0.hasPrefix("\(metric){") }
      .compactMap { line in
        line.split(separator: "\(attribute)=\"").dropFirst().first?.split(
          separator: "\"", omittingEmptySubsequences: false
        )
        .first.map { String($0) }
      }
  }

  @Test("a request to a named device counts for that device, at both ends of the proxy")
  func named() {
    let metrics = HTTPMetrics(factory: registry)
    for name in ["printer", "camera", "printer"] { record(metrics, name, isConfigured: true) }
    for metric in ["http_server_request_duration_seconds_count", "http_client_request_duration_seconds_count"] {
      #expect(values(of: "device", in: metric) == ["camera", "printer"])
    }
    #expect(String(decoding: registry.text(), as: UTF8.self).contains("device=\"printer\"} 2"))
  }

  @Test("a name that is not configured makes no series until its device has received a request")
  func unsent() {
    let metrics = HTTPMetrics(factory: registry)
    record(metrics, "ghost", isConfigured: false, wasSent: false)
    record(metrics, "lamp", isConfigured: true, wasSent: false)
    #expect(values(of: "device") == ["_OTHER", "lamp"])
    record(metrics, "ghost", isConfigured: false)
    record(metrics, "ghost", isConfigured: false, wasSent: false)
    #expect(values(of: "device") == ["_OTHER", "ghost", "lamp"])
  }

  @Test("unconfigured device names make at most 50 series, and leave room for 50 configured ones")
  func bounded() {
    let metrics = HTTPMetrics(factory: registry)
    for index in 0..<300 { record(metrics, "claimed-\(index)", isConfigured: false) }
    #expect(values(of: "device").count == 51)
    for index in 0..<300 { record(metrics, "device-\(index)", isConfigured: true) }
    let devices = values(of: "device")
    #expect(devices.count == 101 && Set(devices).count == 101)
    #expect(devices.contains("device-49") && !devices.contains("device-50"))
    #expect(devices.contains("claimed-49") && !devices.contains("claimed-50"))
    // A listed name stays.
    record(metrics, "device-49", isConfigured: true, status: 404)
    #expect(values(of: "device").filter { $0 == "device-49" }.count == 2)
  }

  @Test("a hundred configured devices are listed")
  func configured() {
    let metrics = HTTPMetrics(factory: registry)
    for index in 0..<101 { record(metrics, "device-\(index)", isConfigured: true) }
    #expect(Set(values(of: "device")) == Set((0..<100).map { "device-\($0)" } + ["_OTHER"]))
  }

  @Test("the series of device outcomes are limited too, and other requests keep their outcomes")
  func outcomes() {
    let metrics = HTTPMetrics(factory: registry)
    for index in 0..<20 {
      for status in 100..<300 { record(metrics, "device-\(index)", isConfigured: true, status: status) }
    }
    #expect(values(of: "device").count == 3001)
    let head: FieldSection = [":method": "PUT", ":scheme": "http", ":authority": "x", ":path": "/"]
    var other = ExchangeRecord(listener: "unix:/l", version: .http2, head: head, trace: nil, begun: .now())
    metrics.exchangeBegan(other)
    (other.ended, other.status) = (.now(), 207)
    metrics.exchangeEnded(other)
    #expect(String(decoding: registry.text(), as: UTF8.self).contains(#"status_code="207",error_type="",device=""} 1"#))
  }

  @Test("all metrics of a section's requests have its name, and those without a section have no such attribute")
  func sections() {
    for section in ["hall", "yard"] {
      let metrics = HTTPMetrics(factory: registry, section: section)
      metrics.exchangeMoved(requestBytes: 1, responseBytes: 1)
      record(metrics, "lamp", isConfigured: true)
    }
    let metrics = MetricName.all.filter { $0.attributes.contains("section") }
    #expect(metrics.count == 10)
    let lines = String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(lines.count > 50)
    for line in lines { #expect(line.contains("section=\"hall\"") != line.contains("section=\"yard\""), "\(line)") }
    let plain = PrometheusRegistry.of(MetricName.all)
    record(HTTPMetrics(factory: plain), "lamp", isConfigured: true)
    #expect(!String(decoding: plain.text(), as: UTF8.self).contains("section"))
  }
}
