import Byway
import BywayMetrics
import BywayPlugins
import CoreMetrics
import NIOCore
import Synchronization

/// Updates the metrics of plugins on request: plugins count their requests themselves.
final class PluginMetrics: Sendable {
  /// The maximum number of plugins with metrics of their own. Each reload may bring new names.
  private static let limit = 100

  private let factory: any MetricsFactory
  /// The last counts of each plugin, by its name.
  private let seen = Mutex<[String: Counts]>([:])

  private struct Counts {
    var requests = 0
    var restarts = 0
    var seconds = 0.0
    var failures: [PluginFigures.Failure: Int] = [:]
  }

  init(factory: any MetricsFactory) {
    self.factory = factory
  }

  /// - Parameter plugins: all plugins in use.
  func update(_ plugins: [PluginStatus]) {
    let sums = sum(plugins)
    let gone = seen.withLock { seen in Set(seen.keys).subtracting(sums.keys) }
    for name in gone { gauges(name, isUp: false, running: 0) }
    for (name, sum) in sums { count(name, sum) }
    for (name, plugins) in Dictionary(grouping: plugins, by: { self.label(of: $0.name) }) {
      gauges(name, isUp: plugins.allSatisfy(\.isUp), running: plugins.reduce(0) { $0 + $1.running })
    }
  }

  /// Several plugins may have the same name.
  private func sum(_ plugins: [PluginStatus]) -> [String: Counts] {
    plugins.reduce(into: [:]) { sums, plugin in
      let name = label(of: plugin.name)
      sums[name, default: Counts()].requests += plugin.figures.requests
      sums[name, default: Counts()].restarts += plugin.restarts
      sums[name, default: Counts()].seconds += Double(plugin.figures.time.nanoseconds) / 1_000_000_000
      sums[name, default: Counts()].failures.merge(plugin.figures.failures, uniquingKeysWith: +)
    }
  }

  private func label(of name: String) -> String {
    seen.withLock { seen in
      if seen[name] != nil { return name }
      let label = seen.count >= Self.limit ? "_OTHER" : name
      if seen[label] == nil { seen[label] = Counts() }
      return label
    }
  }

  private func count(_ name: String, _ now: Counts) {
    let before = seen.withLock { $0.updateValue(now, forKey: name) } ?? Counts()
    // A plugin that was created again counts from zero.
    func more(_ now: Int, _ before: Int) -> Int64 { Int64(now >= before ? now - before : now) }
    let plugin = [("plugin", name)]
    Counter(label: MetricName.pluginRequests.label, dimensions: plugin, factory: factory)
      .increment(by: more(now.requests, before.requests))
    Counter(label: MetricName.pluginRestarts.label, dimensions: plugin, factory: factory)
      .increment(by: more(now.restarts, before.restarts))
    FloatingPointCounter(label: MetricName.pluginTime.label, dimensions: plugin, factory: factory)
      .increment(by: now.seconds >= before.seconds ? now.seconds - before.seconds : now.seconds)
    for kind in PluginFigures.Failure.allCases {
      Counter(
        label: MetricName.pluginFailures.label, dimensions: plugin + [("error.type", kind.rawValue)], factory: factory
      ).increment(by: more(now.failures[kind] ?? 0, before.failures[kind] ?? 0))
    }
  }

  private func gauges(_ name: String, isUp: Bool, running: Int) {
    let plugin = [("plugin", name)]
    Meter(label: MetricName.pluginUp.label, dimensions: plugin, factory: factory).set(isUp ? 1 : 0)
    Meter(label: MetricName.pluginActive.label, dimensions: plugin, factory: factory).set(running)
  }
}

extension PluginStatus {
  fileprivate var isUp: Bool {
    if case .running = state { true } else { false }
  }
}
