import Byway
import BywayLineLayer
import BywayMetrics
import BywayPrometheusText
import Testing

/// Metrics of links and lines.
@Suite struct LinkMetricsTests {
  @Test("counters of a line grow by the difference to the last reading, also after the line starts again")
  func counters() {
    let registry = PrometheusRegistry.of(MetricName.all)
    let metrics = LinkMetrics(factory: registry)
    var line = LineStatistics()
    func shown(_ name: String) -> String? {
      String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").last { $0.hasPrefix("\(name){") }.map(
        String.init)
    }
    (line.sentBytes, line.damagedFrames, line.roundTrip, line.rate) = (100, 2, 1_500_000, 11_520)
    (line.foreignBytes, line.resumes) = (77, 3)
    metrics.update("serial:usb", isUp: true, line: line)
    line.sentBytes = 150
    metrics.update("serial:usb", isUp: true, line: line)
    #expect(shown("byway_link_line_sent_bytes_total") == #"byway_link_line_sent_bytes_total{link="serial:usb"} 150"#)
    #expect(shown("byway_link_line_damaged_frames_total")?.hasSuffix(" 2") == true)
    #expect(shown("byway_link_line_received_foreign_bytes_total")?.hasSuffix(" 77") == true)
    #expect(shown("byway_link_line_resumes_total")?.hasSuffix(" 3") == true)
    #expect(shown("byway_link_line_round_trip_seconds")?.hasSuffix(" 0.0015") == true)
    #expect(shown("byway_link_line_rate_bytes_per_second")?.hasSuffix(" 11520") == true)
    metrics.update("serial:usb", isUp: false, line: nil)
    #expect(shown("byway_link_up") == #"byway_link_up{link="serial:usb"} 0"#)
    line = LineStatistics()
    line.sentBytes = 7
    metrics.update("serial:usb", isUp: true, line: line)
    #expect(shown("byway_link_line_sent_bytes_total")?.hasSuffix(" 157") == true)
    #expect(shown("byway_link_up")?.hasSuffix(" 1") == true)
  }

  @Test("dialed links are counted by outcome: opened, lost or failed")
  func openings() {
    let registry = PrometheusRegistry.of(MetricName.all)
    let metrics = LinkMetrics(factory: registry)
    var counts = LinkCounts()
    (counts.openings, counts.losses, counts.failures) = (2, 1, 5)
    metrics.update("unix:/l", isUp: true, line: nil, counts: counts)
    counts.failures = 6
    metrics.update("unix:/l", isUp: false, line: nil, counts: counts)
    let text = String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(
      text == [
        #"byway_link_failures_total{link="unix:/l"} 6"#, #"byway_link_losses_total{link="unix:/l"} 1"#,
        #"byway_link_openings_total{link="unix:/l"} 2"#, #"byway_link_up{link="unix:/l"} 0"#,
      ])
  }

  @Test("open connections are shown by state, and a state without any is shown as zero")
  func connections() {
    let registry = PrometheusRegistry.of(MetricName.all)
    let metrics = LinkMetrics(factory: registry)
    func shown() -> [Substring] {
      String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
    }
    metrics.update(UpstreamStatus.Connections(active: 2, idle: 3), to: "http://o")
    #expect(
      shown() == [
        #"http_client_open_connections{http_connection_state="active",server_address="http://o"} 2"#,
        #"http_client_open_connections{http_connection_state="idle",server_address="http://o"} 3"#,
      ])
    metrics.update(UpstreamStatus.Connections(), to: "http://o")
    #expect(shown().allSatisfy { $0.hasSuffix(" 0") } && shown().count == 2)
  }
}
