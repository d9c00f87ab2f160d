import BywayPrometheusText
import CoreMetrics
import Testing

/// The text format of Prometheus.
@Suite struct PrometheusTextTests {
  private func text(_ registry: PrometheusRegistry) -> [String] {
    String(decoding: registry.text(), as: UTF8.self).split(separator: "\n").map(String.init)
  }

  @Test("counters end in _total after their unit, and have help and type")
  func counter() {
    let registry = PrometheusRegistry(["a.sent": MetricDescription(unit: .bytes, help: "What\nwas \\sent.")])
    let counter = Counter(label: "a.sent", dimensions: [("link", "unix:/run/\"a\"\\\n")], factory: registry)
    counter.increment(by: 3)
    Counter(label: "a.sent", dimensions: [("link", "unix:/run/\"a\"\\\n")], factory: registry).increment(by: 4)
    #expect(
      text(registry) == [
        #"# HELP a_sent_bytes_total What\nwas \\sent."#, "# TYPE a_sent_bytes_total counter",
        #"a_sent_bytes_total{link="unix:/run/\"a\"\\\n"} 7"#,
      ])
  }

  @Test("a timer is a histogram in seconds with cumulative buckets")
  func timer() {
    let registry = PrometheusRegistry(["t": MetricDescription(unit: .seconds, help: "T.", buckets: [0.25, 0.5])])
    let timer = Timer(label: "t", dimensions: [("k", "v")], factory: registry)
    for milliseconds in [250, 251, 9000] as [Int64] { timer.recordMilliseconds(milliseconds) }
    #expect(
      text(registry) == [
        "# HELP t_seconds T.", "# TYPE t_seconds histogram", #"t_seconds_bucket{k="v",le="0.25"} 1"#,
        #"t_seconds_bucket{k="v",le="0.5"} 2"#, #"t_seconds_bucket{k="v",le="+Inf"} 3"#, #"t_seconds_sum{k="v"} 9.501"#,
        #"t_seconds_count{k="v"} 3"#,
      ])
  }

  @Test("a value at the bound of a bucket is in that bucket, and the next larger value is in the next one")
  func bounds() {
    let bounds = [0, 1, 4096.0]
    for (value, bucket) in [
      (-1, 0), (0, 0), (0.0.nextUp, 1), (1, 1), (1.0.nextUp, 2), (4096, 2), (4096.0.nextUp, 3), (Double(Int64.max), 3),
    ] {
      let registry = PrometheusRegistry(["s": MetricDescription(unit: .none, help: "", buckets: bounds)])
      Recorder(label: "s", aggregate: true, factory: registry).record(value)
      let counts = text(registry).filter { $0.hasPrefix("s_bucket") }.map { $0.hasSuffix(" 1") }
      #expect(counts == (0...bounds.count).map { $0 >= bucket }, "\(value)")
    }
  }

  @Test("gauges rise and fall, and destroyed metrics disappear")
  func gauge() {
    let registry = PrometheusRegistry([:])
    let meter = Meter(label: "running", factory: registry)
    meter.increment(by: 3)
    meter.decrement(by: 1)
    #expect(text(registry) == ["# TYPE running gauge", "running 2"])
    meter.destroy()
    #expect(text(registry).isEmpty)
  }
}
