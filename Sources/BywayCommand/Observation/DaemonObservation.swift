import Byway
import BywayInspector
import BywayInterceptors
import BywayMetrics
import CoreMetrics
import LineLayer
import Logging
import PrometheusText

/// What a daemon knows of itself: metrics, and an access log where one was asked for. Safe on any thread.
final class DaemonObservation: Sendable {
  /// A link, and how it is now.
  struct LinkState: Sendable {
    /// Its address, without what only opens it.
    let name: String
    let isUp: Bool
    /// `nil` where it has none, or has none now.
    let line: LineStatistics?
    /// `nil` where this end does not open it.
    let counts: LinkCounts?
  }

  /// For the configuration of each gateway and proxy.
  let observers: [any ExchangeObserver]
  private let registry: PrometheusRegistry
  private let process: ProcessMetrics
  private let lines: LinkMetrics
  private let accessLog: AccessLog?
  /// `nil` where nobody wants to look.
  let inspector: Inspector?
  /// What is made harder by who looks.
  let hindrances: Hindrances?

  /// - Throws: ``CommandFailure`` where the access log cannot be opened.
  init(_ options: ObservationOptions, logger: Logger) throws {
    let registry = PrometheusRegistry(describing: MetricName.all)
    let lost = Counter(label: MetricName.lostLines.label, factory: registry)
    accessLog = try options.accessLog.map { path in
      try AccessLog(path, options.accessLogFormat ?? .combined, logger: logger) { lost.increment(by: $0) }
    }
    self.registry = registry
    process = ProcessMetrics(factory: registry)
    lines = LinkMetrics(factory: registry)
    // What nobody asks for costs no request anything.
    let metrics: [any ExchangeObserver] = options.metrics == nil ? [] : [HTTPMetrics(factory: registry)]
    inspector = options.inspect.map { _ in Inspector(bodyLimit: options.inspectBodies?.bytes ?? 1 << 20) }
    hindrances = inspector.map { _ in Hindrances() }
    observers = metrics + (accessLog.map { [$0] } ?? []) + (inspector.map { [$0] } ?? [])
  }

  /// For Prometheus. What nobody counts is looked up now.
  /// - Parameter connections: by the links and origins that they lead to.
  func metricsText(of links: [LinkState], connections: [String: UpstreamStatus.Connections]) -> [UInt8] {
    process.update()
    for (address, connections) in connections { lines.update(connections, to: address) }
    for link in links { lines.update(link.name, isUp: link.isUp, line: link.line, counts: link.counts) }
    return registry.text()
  }

  /// The access log was renamed: it goes on in a new file.
  func reopen() {
    accessLog?.reopen()
  }

  /// Writes what is left.
  func finish() async {
    await accessLog?.finish()
  }
}

extension DaemonObservation.LinkState {
  /// Each road of a device, where it has several.
  static func all(of link: DaemonStatus.Road) -> [Self] {
    link.all.map { road in
      let isUp = road.state == .link(.up)
      // The line that the connection in use goes over.
      return Self(name: road.name, isUp: isUp, line: isUp ? link.line : nil, counts: road.counts)
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
