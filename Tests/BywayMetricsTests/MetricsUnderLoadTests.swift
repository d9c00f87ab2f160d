import BywayHTTPWire
import BywayPrometheusText
import NIOCore
import Testing

@testable import Byway
@testable import BywayMetrics

/// Metrics of exchanges on several threads, and of exchanges that differ in one attribute only.
@Suite(.timeLimit(.minutes(1))) struct MetricsUnderLoadTests {
  private let registry = PrometheusRegistry.of(MetricName.all)

  /// Returns the sum of all values of a series.
  private func sum(_ name: String, with label: String = "") -> Double {
    String(decoding: registry.text(), as: UTF8.self).split(separator: "\n")
      .filter { $0.hasPrefix("\(name){") || $0.hasPrefix("\(name) ") }.filter { label.isEmpty || $0.contains(label) }
      .compactMap { $0.split(separator: " ").last.flatMap { Double($0) } }.reduce(0, +)
  }

  /// An exchange with a time in each phase, all of which are exact as numbers of seconds.
  private static func exchange(
    _ role: ExchangeRecord.Role = .server, method: String = "GET", scheme: String = "http",
    version: ExchangeRecord.Version = .http2, status: Int? = 200, upstream: String? = "http://origin"
  ) -> ExchangeRecord {
    let head: FieldSection = [":method": "\(method)", ":scheme": "\(scheme)", ":authority": "x", ":path": "/"]
    var record = ExchangeRecord(
      role: role, listener: "unix:/l", version: version, head: head, trace: nil, begun: .uptimeNanoseconds(0))
    (record.status, record.upstream) = (status, upstream)
    if upstream != nil { (record.sent, record.attempts) = (record.begun + .milliseconds(250), 3) }
    record.ended = record.begun + .milliseconds(750)
    (record.requestBytes, record.responseBytes) = (3, 5)
    return record
  }

  private static func count(_ exchange: ExchangeRecord, with metrics: HTTPMetrics) {
    metrics.exchangeBegan(exchange)
    metrics.exchangeSent(exchange)
    metrics.exchangeMoved(requestBytes: 3, responseBytes: 5)
    metrics.exchangeEnded(exchange)
  }

  @Test("a scrape during exchanges on several threads loses nothing, and all sums are exact at the end")
  func scraped() async {
    let metrics = HTTPMetrics(factory: registry)
    let (threads, each) = (4, 250)
    await withTaskGroup { group in
      for thread in 0..<threads {
        group.addTask {
          for number in 0..<each { Self.count(Self.exchange(status: 200 + (number + thread) % 3), with: metrics) }
        }
      }
      group.addTask {
        var last = 0.0
        while last < Double(threads * each) {
          let now = sum("http_server_request_duration_seconds_count")
          #expect(now >= last)
          last = now
          await Task.yield()
        }
      }
    }
    let count = Double(threads * each)
    for name in ["request_duration_seconds", "request_body_size_bytes", "response_body_size_bytes"] {
      #expect(sum("http_server_\(name)_count") == count)
      #expect(sum("http_server_\(name)_bucket", with: "le=\"+Inf\"") == count)
    }
    #expect(sum("http_server_request_duration_seconds_sum") == 0.75 * count)
    #expect(sum("http_server_request_duration_seconds_bucket", with: "le=\"0.75\"") == count)
    #expect(sum("http_server_request_duration_seconds_bucket", with: "le=\"0.5\"") == 0)
    #expect(sum("http_client_request_duration_seconds_sum") == 0.5 * count)
    #expect(sum("byway_http_request_waiting_seconds_sum") == 0.25 * count)
    #expect(sum("http_server_request_body_size_bytes_sum") == 3 * count)
    #expect(sum("http_server_response_body_size_bytes_sum") == 5 * count)
    #expect(sum("byway_http_request_body_bytes_total") == 3 * count)
    #expect(sum("byway_http_response_body_bytes_total") == 5 * count)
    #expect(sum("byway_http_request_resends_total") == 2 * count)
    #expect(sum("http_server_active_requests") == 0 && sum("http_client_active_requests") == 0)
  }

  @Test("exchanges that differ from the one before in one attribute have series of their own")
  func kinds() {
    let metrics = HTTPMetrics(factory: registry)
    var failed = Self.exchange()
    failed.failure = .init(code: .originLost, party: .origin)
    var atDevice = Self.exchange()
    atDevice.device = .init("lamp", isConfigured: true)
    var chosen = Self.exchange()
    chosen.isClientsChoice = true
    let other = [
      Self.exchange(method: "PUT"), Self.exchange(scheme: "https"), Self.exchange(version: .http1_1),
      Self.exchange(status: 404), failed, atDevice, chosen, Self.exchange(upstream: "http://other"),
      Self.exchange(upstream: nil), Self.exchange(.client),
    ]
    for exchange in other {
      // Also in the reverse order, and twice.
      for exchange in [exchange, Self.exchange(), exchange] { Self.count(exchange, with: metrics) }
    }
    let server = "http_server_request_duration_seconds_count"
    let client = "http_client_request_duration_seconds_count"
    // A target does not matter to the series of servers: four of these exchanges have the labels of the usual one there.
    #expect(
      sum(
        server,
        with:
          #"method="GET",url_scheme="http",network_protocol_version="2",http_response_status_code="200",error_type="",device="""#
      ) == 16)
    for label in [
      "method=\"PUT\"", "scheme=\"https\"", "version=\"1.1\"", "code=\"404\"", "type=\"originLost\"", "device=\"lamp\"",
    ] {
      #expect(sum(server, with: label) == 2, "\(label)")
    }
    #expect(sum(server) == 28)
    #expect(sum(client, with: "address=\"_OTHER\"") == 2 && sum(client, with: "address=\"http://other\"") == 2)
    #expect(sum(client) == 28)
    #expect(sum("http_server_active_requests") == 0 && sum("http_client_active_requests") == 0)
  }
}
