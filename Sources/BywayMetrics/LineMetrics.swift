package import CoreMetrics
package import LineLayer
import Synchronization

/// Shows what links and lines are at, whenever somebody wants to see it: they count for themselves, and cost nothing in between.
package final class LineMetrics: Sendable {
  private typealias Figure = (metric: MetricName, read: @Sendable (LineStatistics) -> UInt64)

  private static let counters: [Figure] = [
    (.lineSentBytes, { $0.sentBytes }), (.lineReceivedBytes, { $0.receivedBytes }),
    (.lineSentFrames, { $0.sentFrames }), (.lineReceivedFrames, { $0.receivedFrames }),
    (.lineRepeatedFrames, { $0.repeatedFrames }), (.lineDamagedFrames, { $0.damagedFrames }),
    (.lineRefusedFrames, { $0.refusedFrames }),
  ]

  private struct Row {
    let up: Meter
    var counters: [Counter] = []
    var seen: LineStatistics?
  }

  private let factory: any MetricsFactory
  private let rows = Mutex<[String: Row]>([:])

  package init(factory: any MetricsFactory) {
    self.factory = factory
  }

  /// - Parameters:
  ///   - link: its address.
  ///   - line: `nil` where it has none, or has none now.
  package func update(_ link: String, isUp: Bool, line: LineStatistics?) {
    rows.withLock { rows in
      let dimensions = [("link", link)]
      var row = rows[link] ?? Row(up: Meter(label: MetricName.linkUp.label, dimensions: dimensions, factory: factory))
      row.up.set(isUp ? 1 : 0)
      if let line { show(line, dimensions, &row) }
      rows[link] = row
    }
  }

  private func show(_ line: LineStatistics, _ dimensions: [(String, String)], _ row: inout Row) {
    if row.counters.isEmpty {
      row.counters = Self.counters.map { Counter(label: $0.metric.label, dimensions: dimensions, factory: factory) }
    }
    for ((_, read), counter) in zip(Self.counters, row.counters) {
      let now = read(line)
      let before = row.seen.map(read) ?? 0
      // A line whose transport was made anew counts from the beginning.
      let more = now >= before ? now - before : now
      if more > 0 { counter.increment(by: Int64(clamping: more)) }
    }
    row.seen = line
    if let roundTrip = line.roundTrip { gauge(.lineRoundTrip, dimensions, Double(roundTrip) / 1_000_000_000) }
    if let rate = line.rate { gauge(.lineRate, dimensions, Double(rate)) }
  }

  private func gauge(_ metric: MetricName, _ dimensions: [(String, String)], _ value: Double) {
    Meter(label: metric.label, dimensions: dimensions, factory: factory).set(value)
  }
}
