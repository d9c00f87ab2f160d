/// The properties of a metric in the output that the counting code does not provide.
package struct MetricDescription: Sendable {
  package enum Unit: Sendable {
    case none, bytes, seconds, bytesPerSecond

    /// The suffix of the metric's name, by OpenTelemetry's rules for Prometheus.
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
  /// The help text for users, one sentence.
  package let help: String
  /// The upper bounds of a histogram's buckets, in that unit, in ascending order.
  package let buckets: [Double]

  package init(unit: Unit, help: String, buckets: [Double] = []) {
    self.unit = unit
    self.help = help
    self.buckets = buckets
  }
}
