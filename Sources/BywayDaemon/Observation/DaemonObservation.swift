import Byway
import BywayInspector
import BywayInterceptors
import BywayLineLayer
import BywayMetrics
import BywayPlugins
import BywayPrometheusText
import CoreMetrics
import Logging
import Synchronization

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

  /// The maximum number of sections with metrics of their own. Each reload may bring new names.
  private static let mostSections = 100

  private let registry: PrometheusRegistry
  /// Metrics that are not served cost the requests nothing.
  private let servesMetrics: Bool
  /// The metrics of requests, by section.
  private let sections = Mutex<[String: HTTPMetrics]>([:])
  /// The observers of all sections.
  private let shared: [any ExchangeObserver]
  private let process: ProcessMetrics
  private let lines: LinkMetrics
  private let plugins: PluginMetrics
  private let accessLog: AccessLog?
  /// `nil` without an inspector.
  let inspector: Inspector?
  /// The rules of the inspector's users.
  let rules: InspectorRules?

  /// - Throws: ``CommandFailure`` if the access log cannot be opened.
  init(_ settings: ObservationSettings, logger: Logger) throws {
    let registry = PrometheusRegistry(describing: MetricName.all)
    let lost = Counter(label: MetricName.lostLines.label, factory: registry)
    accessLog = try settings.accessLog.map { path in
      try AccessLog(path, settings.accessLogFormat, logger: logger) { lost.increment(by: $0) }
    }
    self.registry = registry
    process = ProcessMetrics(factory: registry)
    lines = LinkMetrics(factory: registry)
    plugins = PluginMetrics(factory: registry)
    servesMetrics = settings.metrics != nil
    inspector = settings.inspector.map { _ in Inspector(bodyLimit: settings.inspectedBytes) }
    rules = inspector.map { InspectorRules(of: $0) }
    shared = (accessLog.map { [$0] } ?? []) + (inspector.map { [$0] } ?? [])
  }

  /// Returns the observers for the configuration of a gateway or proxy.
  /// - Parameter name: The name of its section; empty without sections.
  func observers(ofSection name: String) -> [any ExchangeObserver] {
    (servesMetrics ? [metrics(ofSection: name)] : []) + shared
  }

  private func metrics(ofSection name: String) -> HTTPMetrics {
    sections.withLock { sections in
      let name = sections[name] == nil && sections.count >= Self.mostSections ? "_OTHER" : name
      if let known = sections[name] { return known }
      let metrics = HTTPMetrics(factory: registry, section: name.isEmpty ? nil : name)
      sections[name] = metrics
      return metrics
    }
  }

  /// Returns the metrics for Prometheus. Values that are not counted are looked up now.
  /// - Parameter connections: The connections by the links and origins that they lead to.
  func metricsText(
    of links: [LinkState], connections: [String: UpstreamStatus.Connections], plugins: [PluginStatus]
  ) -> [UInt8] {
    process.update()
    self.plugins.update(plugins)
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
