public import Byway
public import CoreMetrics
import NIOCore
import Synchronization

/// Counts exchanges with swift-metrics, under the names that OpenTelemetry has for HTTP servers and clients.
///
///     configuration.observers = [HTTPMetrics()]
///
/// Attributes whose values come from outside have few: docs/observability.md lists all metrics. Safe on any thread.
public final class HTTPMetrics: ExchangeObserver {
  /// What an exchange is counted by when it has ended.
  private struct Kind: Hashable, Sendable {
    let labels: ExchangeLabels
    let version: ExchangeRecord.Version
    let outcome: ExchangeOutcome
    /// `nil` where it was not sent.
    let upstream: String?
  }

  private struct Ended: Sendable {
    let duration: Timer
    let requestSize: Recorder
    let responseSize: Recorder
    let upstreamDuration: Timer?
  }

  /// What an exchange is counted by that is under way at an upstream.
  private struct Way: Hashable, Sendable {
    let method: ExchangeLabels.Method
    let upstream: String
  }

  private struct Sent: Sendable {
    let active: Meter
    let waiting: Timer
    let resends: Counter
  }

  private struct Tables: Sendable {
    var begun = RecentTable<ExchangeLabels, Meter>()
    var sent = RecentTable<Way, Sent>()
    var ended = RecentTable<Kind, Ended>()
  }

  private let factory: any MetricsFactory
  private let requestBytes: Counter
  private let responseBytes: Counter
  private let tables = Mutex(Tables())

  /// Metrics of a backend.
  /// - Parameter factory: of the backend; else the one that the process was bootstrapped with.
  public init(factory: any MetricsFactory = MetricsSystem.factory) {
    self.factory = factory
    requestBytes = Counter(label: MetricName.requestBytes.label, factory: factory)
    responseBytes = Counter(label: MetricName.responseBytes.label, factory: factory)
  }

  // MARK: ExchangeObserver

  /// Counts it as active.
  public func exchangeBegan(_ exchange: ExchangeRecord) {
    let labels = ExchangeLabels(exchange)
    tables.withLock { begun(labels, &$0) }.increment(by: 1)
  }

  /// Counts it as active where it was sent, and how long it had waited for that.
  public func exchangeSent(_ exchange: ExchangeRecord) {
    guard let sent = exchange.sent, let upstream = Self.upstream(of: exchange) else { return }
    let way = Way(method: ExchangeLabels(exchange).method, upstream: upstream)
    let metrics = tables.withLock { self.sent(way, &$0) }
    metrics.active.increment(by: 1)
    metrics.waiting.record(exchange.begun, sent)
  }

  /// Counts bytes of bodies.
  public func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    if requestBytes > 0 { self.requestBytes.increment(by: requestBytes) }
    if responseBytes > 0 { self.responseBytes.increment(by: responseBytes) }
  }

  /// Counts how long it took, and how it ended.
  public func exchangeEnded(_ exchange: ExchangeRecord) {
    guard let end = exchange.ended else { return }
    let kind = Kind(
      labels: ExchangeLabels(exchange), version: exchange.version, outcome: ExchangeOutcome(exchange),
      upstream: Self.upstream(of: exchange))
    let (active, ended, sent) = tables.withLock { tables in
      (
        begun(kind.labels, &tables), self.ended(kind, &tables),
        kind.upstream.map { self.sent(Way(method: kind.labels.method, upstream: $0), &tables) }
      )
    }
    active.decrement(by: 1)
    ended.duration.record(exchange.begun, end)
    ended.requestSize.record(exchange.requestBytes)
    ended.responseSize.record(exchange.responseBytes)
    guard let sent, let start = exchange.sent else { return }
    sent.active.decrement(by: 1)
    ended.upstreamDuration?.record(start, end)
    if exchange.attempts > 1 { sent.resends.increment(by: exchange.attempts - 1) }
  }

  /// Clients may name any place.
  private static func upstream(of exchange: ExchangeRecord) -> String? {
    exchange.isClientsChoice && exchange.upstream != nil ? "_OTHER" : exchange.upstream
  }

  // MARK: Metrics, made when they are needed

  private func begun(_ labels: ExchangeLabels, _ tables: inout Tables) -> Meter {
    tables.begun.value(for: labels) { _ in
      let dimensions = [("http.request.method", labels.method.rawValue), ("url.scheme", labels.scheme.rawValue)]
      return Meter(label: MetricName.serverActive.label, dimensions: dimensions, factory: factory)
    }
  }

  private func sent(_ way: Way, _ tables: inout Tables) -> Sent {
    tables.sent.value(for: way) { isFull in
      let upstream = ("server.address", isFull ? "_OTHER" : way.upstream)
      return Sent(
        active: Meter(
          label: MetricName.clientActive.label, dimensions: [("http.request.method", way.method.rawValue), upstream],
          factory: factory),
        waiting: Timer(label: MetricName.waiting.label, dimensions: [upstream], factory: factory),
        resends: Counter(label: MetricName.resends.label, dimensions: [upstream], factory: factory))
    }
  }

  private func ended(_ kind: Kind, _ tables: inout Tables) -> Ended {
    tables.ended.value(for: kind) { isFull in
      func attribute(_ name: String, _ value: String) -> (String, String) { (name, isFull ? "_OTHER" : value) }
      let method = attribute("http.request.method", kind.labels.method.rawValue)
      let status = attribute("http.response.status_code", kind.outcome.statusText)
      let error = attribute("error.type", kind.outcome.errorText)
      let server = [
        method, attribute("url.scheme", kind.labels.scheme.rawValue),
        attribute("network.protocol.version", kind.version.rawValue), status, error,
      ]
      return Ended(
        duration: Timer(label: MetricName.serverDuration.label, dimensions: server, factory: factory),
        requestSize: Recorder(label: MetricName.serverRequestSize.label, dimensions: server, factory: factory),
        responseSize: Recorder(label: MetricName.serverResponseSize.label, dimensions: server, factory: factory),
        upstreamDuration: kind.upstream.map {
          Timer(
            label: MetricName.clientDuration.label,
            dimensions: [method, attribute("server.address", $0), status, error],
            factory: factory)
        })
    }
  }
}

extension Timer {
  fileprivate func record(_ start: NIODeadline, _ end: NIODeadline) {
    recordNanoseconds((end - start).nanoseconds)
  }
}
