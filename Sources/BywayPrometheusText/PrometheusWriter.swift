/// Writes the text format of Prometheus, version 0.0.4.
struct PrometheusWriter {
  private(set) var bytes: [UInt8] = []
  private var name = ""
  private var kind = Series.Kind.gauge

  /// Begins the metrics of this name, in the spelling of OpenTelemetry: `http.server.request.duration`.
  mutating func begin(_ label: String, _ kind: Series.Kind, _ description: MetricDescription) {
    self.kind = kind
    name = Self.name(label, kind, description.unit)
    if !description.help.isEmpty { line("# HELP \(name) \(Self.escaped(description.help, quotes: false))") }
    line("# TYPE \(name) \(Self.type(of: kind))")
  }

  mutating func write(_ series: Series, labels: String, bounds: [Double]) {
    let state = series.state
    guard kind.isHistogram else {
      line("\(name)\(Self.braced(labels)) \(Self.number(state.value))")
      return
    }
    let separator = labels.isEmpty ? "" : ","
    var count: UInt64 = 0
    for (bound, inBucket) in zip(bounds + [.infinity], state.counts) {
      count += inBucket
      line("\(name)_bucket{\(labels)\(separator)le=\"\(Self.number(bound))\"} \(count)")
    }
    line("\(name)_sum\(Self.braced(labels)) \(Self.number(state.value))")
    line("\(name)_count\(Self.braced(labels)) \(count)")
  }

  private mutating func line(_ text: String) {
    bytes += text.utf8
    bytes.append(UInt8(ascii: "\n"))
  }

  // MARK: Spelling

  /// Translates an OpenTelemetry name: other characters become underscores, then come the unit and, for counters, `_total`.
  static func name(_ label: String, _ kind: Series.Kind, _ unit: MetricDescription.Unit) -> String {
    let name = spelled(label)
    let suffix = name.hasSuffix(unit.suffix) ? "" : unit.suffix
    return name + suffix + (kind == .counter ? "_total" : "")
  }

  /// Returns the labels as written between braces.
  static func labels(_ dimensions: [(String, String)]) -> String {
    dimensions.map { "\(spelled($0.0))=\"\(escaped($0.1, quotes: true))\"" }.joined(separator: ",")
  }

  private static func spelled(_ name: String) -> String {
    String(
      decoding: name.utf8.map { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"):
          byte
        default: UInt8(ascii: "_")
        }
      }, as: UTF8.self)
  }

  private static func escaped(_ text: String, quotes: Bool) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\"" where quotes: result += "\\\""
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func braced(_ labels: String) -> String {
    labels.isEmpty ? "" : "{\(labels)}"
  }

  private static func number(_ value: Double) -> String {
    if value == .infinity { return "+Inf" }
    if value == -.infinity { return "-Inf" }
    if value.isNaN { return "NaN" }
    return Int64(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  private static func type(of kind: Series.Kind) -> String {
    switch kind {
    case .counter: "counter"
    case .gauge: "gauge"
    case .recorder, .timer: "histogram"
    }
  }
}
