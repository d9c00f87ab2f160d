/// How a metric is shown, which who counts does not say.
package struct MetricDescription: Sendable {
  package enum Unit: Sendable {
    case none, bytes, seconds, bytesPerSecond

    /// Which a name ends in, by the rules that OpenTelemetry has for Prometheus.
    var suffix: String {
      switch self {
      case .none: ""
      case .bytes: "_bytes"
      case .seconds: "_seconds"
      case .bytesPerSecond: "_bytes_per_second"
      }
    }
  }

  package let unit: Unit
  /// One sentence, for people.
  package let help: String
  /// The upper bounds of a histogram's buckets, in that unit, rising.
  package let buckets: [Double]

  package init(unit: Unit, help: String, buckets: [Double] = []) {
    self.unit = unit
    self.help = help
    self.buckets = buckets
  }
}
