package import Byway
package import BywayLineLayer
package import CoreMetrics
import Synchronization

/// Updates the metrics of links and lines on request: links count their events themselves, which costs nothing in between.
package final class LinkMetrics: Sendable {
  /// A counter that is kept elsewhere, and only grows.
  private struct Growing<Figures: Sendable>: Sendable {
    let metric: MetricName
    let read: @Sendable (Figures) -> UInt64
  }

  private static let ofLinks: [Growing<LinkCounts>] = [
    .init(metric: .linkOpenings) { $0.openings }, .init(metric: .linkLosses) { $0.losses },
    .init(metric: .linkFailures) { $0.failures },
  ]

  private static let ofLines: [Growing<LineStatistics>] = [
    .init(metric: .lineSentBytes) { $0.sentBytes }, .init(metric: .lineReceivedBytes) { $0.receivedBytes },
    .init(metric: .lineSentFrames) { $0.sentFrames }, .init(metric: .lineReceivedFrames) { $0.receivedFrames },
    .init(metric: .lineRepeatedFrames) { $0.repeatedFrames }, .init(metric: .lineDamagedFrames) { $0.damagedFrames },
    .init(metric: .lineRefusedFrames) { $0.refusedFrames }, .init(metric: .lineForeignBytes) { $0.foreignBytes },
    .init(metric: .lineCorrectedBytes) { $0.correctedBytes }, .init(metric: .lineResumes) { $0.resumes },
  ]

  private let factory: any MetricsFactory
  /// The last value of each counter, by link and metric.
  private let seen = Mutex<[String: [MetricName: UInt64]]>([:])

  package init(factory: any MetricsFactory) {
    self.factory = factory
  }

  /// - Parameters:
  ///   - link: its address.
  ///   - line: `nil` if it has no line, or is not open.
  ///   - counts: `nil` if this end does not open it.
  package func update(_ link: String, isUp: Bool, line: LineStatistics?, counts: LinkCounts? = nil) {
    let dimensions = [("link", link)]
    gauge(.linkUp, dimensions, isUp ? 1 : 0)
    if let counts { count(Self.ofLinks, counts, link) }
    guard let line else { return }
    count(Self.ofLines, line, link)
    if let roundTrip = line.roundTrip { gauge(.lineRoundTrip, dimensions, Double(roundTrip) / 1_000_000_000) }
    if let rate = line.rate { gauge(.lineRate, dimensions, Double(rate)) }
  }

  /// - Parameter address: the address of a link or an origin.
  package func update(_ connections: UpstreamStatus.Connections, to address: String) {
    for (state, count) in [("active", connections.active), ("idle", connections.idle)] {
      gauge(.clientConnections, [("http.connection.state", state), ("server.address", address)], Double(count))
    }
  }

  private func count<Figures>(_ all: [Growing<Figures>], _ figures: Figures, _ link: String) {
    for growing in all {
      let now = growing.read(figures)
      let before = seen.withLock { $0[link, default: [:]].updateValue(now, forKey: growing.metric) } ?? 0
      // A link that was created again counts from zero.
      let more = now >= before ? now - before : now
      Counter(label: growing.metric.label, dimensions: [("link", link)], factory: factory)
        .increment(by: Int64(clamping: more))
    }
  }

  private func gauge(_ metric: MetricName, _ dimensions: [(String, String)], _ value: Double) {
    Meter(label: metric.label, dimensions: dimensions, factory: factory).set(value)
  }
}
