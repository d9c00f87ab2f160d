import CoreMetrics

/// The handlers of swift-metrics, each for a ``Series``.
protocol SeriesHandler: AnyObject, Sendable {
  var series: Series { get }
}

final class Counting: SeriesHandler, CounterHandler, FloatingPointCounterHandler {
  let series: Series

  init(series: Series) {
    self.series = series
  }

  func increment(by amount: Int64) { series.add(Double(amount)) }
  func increment(by amount: Double) { series.add(amount) }
  func reset() { series.reset() }
}

final class Metering: SeriesHandler, MeterHandler {
  let series: Series

  init(series: Series) {
    self.series = series
  }

  func set(_ value: Int64) { series.set(Double(value)) }
  func set(_ value: Double) { series.set(value) }
  func increment(by amount: Double) { series.add(amount) }
  func decrement(by amount: Double) { series.add(-amount) }
}

final class Recording: SeriesHandler, RecorderHandler {
  let series: Series
  private let isAggregated: Bool

  init(series: Series, isAggregated: Bool) {
    self.series = series
    self.isAggregated = isAggregated
  }

  func record(_ value: Int64) { record(Double(value)) }
  func record(_ value: Double) { isAggregated ? series.observe(value) : series.set(value) }
}

final class Timing: SeriesHandler, TimerHandler {
  let series: Series

  init(series: Series) {
    self.series = series
  }

  func recordNanoseconds(_ duration: Int64) { series.observe(Double(duration) / 1_000_000_000) }
}
