package import CoreMetrics
import Synchronization

/// Keeps metrics, and writes them in the text format of Prometheus, version 0.0.4.
///
/// Safe on any thread. A series is looked up once, when its metric is created, and each change then takes one lock without contention.
package final class PrometheusRegistry: MetricsFactory, Sendable {
  /// The metrics of one name.
  private struct Family {
    let kind: Series.Kind
    /// The series by their labels, as in the text.
    var series: [String: Series] = [:]
  }

  private let descriptions: [String: MetricDescription]
  /// The families by the name that the counting code uses.
  private let families = Mutex<[String: Family]>([:])

  /// - Parameter descriptions: by label; a metric without one is shown without help.
  package init(_ descriptions: [String: MetricDescription]) {
    self.descriptions = descriptions
  }

  /// The `Content-Type` of ``text()``.
  package static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  package func text() -> [UInt8] {
    var writer = PrometheusWriter()
    for (label, family) in families.withLock({ $0 }).sorted(by: { $0.key < $1.key }) where !family.series.isEmpty {
      let description = description(of: label, family.kind)
      writer.begin(label, family.kind, description)
      for (labels, series) in family.series.sorted(by: { $0.key < $1.key }) {
        writer.write(series, labels: labels, bounds: description.buckets)
      }
    }
    return writer.bytes
  }

  private func description(of label: String, _ kind: Series.Kind) -> MetricDescription {
    descriptions[label] ?? MetricDescription(unit: kind == .timer ? .seconds : .none, help: "")
  }

  private func series(_ label: String, _ dimensions: [(String, String)], _ kind: Series.Kind) -> Series {
    let labels = PrometheusWriter.labels(dimensions)
    let buckets = kind.isHistogram ? description(of: label, kind).buckets : []
    return families.withLock { families in
      if let series = families[label]?.series[labels] { return series }
      let series = Series(buckets: buckets)
      families[label, default: Family(kind: kind)].series[labels] = series
      return series
    }
  }

  private func remove(_ series: Series) {
    families.withLock { families in
      for label in families.keys {
        if let labels = families[label]?.series.first(where: { $0.value === series })?.key {
          families[label]?.series.removeValue(forKey: labels)
          return
        }
      }
    }
  }

  // MARK: MetricsFactory

  package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
    Counting(series: series(label, dimensions, .counter))
  }

  package func makeFloatingPointCounter(
    label: String, dimensions: [(String, String)]
  ) -> any FloatingPointCounterHandler {
    Counting(series: series(label, dimensions, .counter))
  }

  package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
    Metering(series: series(label, dimensions, .gauge))
  }

  package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
    Recording(series: series(label, dimensions, aggregate ? .recorder : .gauge), isAggregated: aggregate)
  }

  package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
    Timing(series: series(label, dimensions, .timer))
  }

  package func destroyCounter(_ handler: any CounterHandler) { destroy(handler) }
  package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) { destroy(handler) }
  package func destroyMeter(_ handler: any MeterHandler) { destroy(handler) }
  package func destroyRecorder(_ handler: any RecorderHandler) { destroy(handler) }
  package func destroyTimer(_ handler: any TimerHandler) { destroy(handler) }

  private func destroy(_ handler: AnyObject) {
    if let handler = handler as? any SeriesHandler { remove(handler.series) }
  }
}
