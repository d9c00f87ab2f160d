import Byway
import BywayInspector
import BywayInterceptors
import BywayMetrics
import CoreMetrics
import LineLayer
import Logging
import PrometheusText

/// The observation of a daemon: metrics, an access log and an inspector, if they are configured. Safe on any thread.
final class DaemonObservation: Sendable {
  /// A link and its current state.
  struct LinkState: Sendable {
    /// Its address, without the options that are only for opening it.
    let name: String
    let isUp: Bool
    /// `nil` if it is not a line, or has no session now.
    let line: LineStatistics?
    /// `nil` if this end does not open it.
    let counts: LinkCounts?
  }

  /// The observers for the configuration of each gateway and proxy.
  let observers: [any ExchangeObserver]
  private let registry: PrometheusRegistry
  private let process: ProcessMetrics
  private let lines: LinkMetrics
  private let accessLog: AccessLog?
  /// `nil` without an inspector.
  let inspector: Inspector?
  /// The faults that the inspector's user injects.
  let faultRules: FaultRules?

  /// - Throws: ``CommandFailure`` if the access log cannot be opened.
  init(_ options: ObservationOptions, logger: Logger) throws {
    let registry = PrometheusRegistry(describing: MetricName.all)
    let lost = Counter(label: MetricName.lostLines.label, factory: registry)
    accessLog = try options.accessLog.map { path in
      try AccessLog(path, options.accessLogFormat ?? .combined, logger: logger) { lost.increment(by: $0) }
    }
    self.registry = registry
    process = ProcessMetrics(factory: registry)
    lines = LinkMetrics(factory: registry)
    // Metrics that are not served cost the requests nothing.
    let metrics: [any ExchangeObserver] = options.metrics == nil ? [] : [HTTPMetrics(factory: registry)]
    inspector = options.inspect.map { _ in Inspector(bodyLimit: options.inspectBodies?.bytes ?? 1 << 20) }
    faultRules = inspector.map { _ in FaultRules() }
    observers = metrics + (accessLog.map { [$0] } ?? []) + (inspector.map { [$0] } ?? [])
  }

  /// Returns the metrics for Prometheus. Values that are not counted are looked up now.
  /// - Parameter connections: The connections by the links and origins that they lead to.
  func metricsText(of links: [LinkState], connections: [String: UpstreamStatus.Connections]) -> [UInt8] {
    process.update()
    for (address, connections) in connections { lines.update(connections, to: address) }
    for link in links { lines.update(link.name, isUp: link.isUp, line: link.line, counts: link.counts) }
    return registry.text()
  }

  /// Continues the access log in a new file, after the old one was renamed.
  func reopen() {
    accessLog?.reopen()
  }

  /// Writes the remaining lines.
  func finish() async {
    await accessLog?.finish()
  }
}

extension DaemonObservation.LinkState {
  /// Returns the state of each link to a device that has several.
  static func all(of link: DaemonStatus.Link) -> [Self] {
    link.all.map { each in
      let isUp = each.state == .link(.up)
      // The line of the connection in use.
      return Self(name: each.name, isUp: isUp, line: isUp ? link.line : nil, counts: each.counts)
    }
  }
}

extension PrometheusRegistry {
  convenience init(describing metrics: [MetricName]) {
    let descriptions = metrics.map { metric in
      let unit: MetricDescription.Unit =
        switch metric.unit {
        case .none: .none
        case .bytes: .bytes
        case .seconds: .seconds
        case .bytesPerSecond: .bytesPerSecond
        }
      return (metric.label, MetricDescription(unit: unit, help: metric.meaning, buckets: metric.buckets))
    }
    self.init(Dictionary(descriptions) { first, _ in first })
  }
}
