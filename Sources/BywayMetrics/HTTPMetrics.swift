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
  /// With so many sets of attributes nothing more is told apart: whoever asks might be filling the memory.
  private static let limit = 1000

  private struct ServerKey: Hashable {
    let labels: ExchangeLabels
    let version: ExchangeRecord.Version
    let outcome: ExchangeOutcome
  }

  private struct ClientKey: Hashable {
    let method: ExchangeLabels.Method
    let upstream: String
    let outcome: ExchangeOutcome
  }

  private struct ActiveKey: Hashable {
    let method: ExchangeLabels.Method
    let upstream: String
  }

  private struct ServerSeries {
    let duration: Timer
    let requestSize: Recorder
    let responseSize: Recorder
  }

  private struct ClientSeries {
    let duration: Timer
  }

  private struct UpstreamSeries {
    let waiting: Timer
    let resends: Counter
  }

  private struct Series {
    var server: [ServerKey: ServerSeries] = [:]
    var client: [ClientKey: ClientSeries] = [:]
    var upstreams: [String: UpstreamSeries] = [:]
    var serverActive: [ExchangeLabels: Meter] = [:]
    var clientActive: [ActiveKey: Meter] = [:]
  }

  private let factory: any MetricsFactory
  private let requestBytes: Counter
  private let responseBytes: Counter
  private let series = Mutex(Series())

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
    serverActive(ExchangeLabels(exchange)).increment(by: 1)
  }

  /// Counts it as active where it was sent, and how long it had waited for that.
  public func exchangeSent(_ exchange: ExchangeRecord) {
    guard let sent = exchange.sent else { return }
    let upstream = Self.upstream(of: exchange)
    clientActive(ActiveKey(method: ExchangeLabels(exchange).method, upstream: upstream)).increment(by: 1)
    self.upstream(upstream).waiting.record(exchange.begun, sent)
  }

  /// Counts bytes of bodies.
  public func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    if requestBytes > 0 { self.requestBytes.increment(by: requestBytes) }
    if responseBytes > 0 { self.responseBytes.increment(by: responseBytes) }
  }

  /// Counts how long it took, and how it ended.
  public func exchangeEnded(_ exchange: ExchangeRecord) {
    guard let ended = exchange.ended else { return }
    let labels = ExchangeLabels(exchange)
    let outcome = ExchangeOutcome(exchange)
    serverActive(labels).decrement(by: 1)
    let server = server(ServerKey(labels: labels, version: exchange.version, outcome: outcome))
    server.duration.record(exchange.begun, ended)
    server.requestSize.record(exchange.requestBytes)
    server.responseSize.record(exchange.responseBytes)
    guard let sent = exchange.sent else { return }
    let upstream = Self.upstream(of: exchange)
    clientActive(ActiveKey(method: labels.method, upstream: upstream)).decrement(by: 1)
    client(ClientKey(method: labels.method, upstream: upstream, outcome: outcome)).duration.record(sent, ended)
    if exchange.attempts > 1 { self.upstream(upstream).resends.increment(by: exchange.attempts - 1) }
  }

  /// Clients may name any place.
  private static func upstream(of exchange: ExchangeRecord) -> String {
    exchange.isClientsChoice ? "_OTHER" : exchange.upstream ?? ""
  }

  // MARK: Series, made when they are needed

  private func server(_ key: ServerKey) -> ServerSeries {
    series.withLock { series in
      if let known = series.server[key] { return known }
      let isFull = series.server.count >= Self.limit
      let dimensions = [
        ("http.request.method", isFull ? "_OTHER" : key.labels.method.rawValue),
        ("url.scheme", isFull ? "_OTHER" : key.labels.scheme.rawValue),
        ("network.protocol.version", isFull ? "_OTHER" : key.version.rawValue),
        ("http.response.status_code", isFull ? "_OTHER" : key.outcome.statusText),
        ("error.type", isFull ? "_OTHER" : key.outcome.errorText),
      ]
      let made = ServerSeries(
        duration: Timer(label: MetricName.serverDuration.label, dimensions: dimensions, factory: factory),
        requestSize: Recorder(label: MetricName.serverRequestSize.label, dimensions: dimensions, factory: factory),
        responseSize: Recorder(label: MetricName.serverResponseSize.label, dimensions: dimensions, factory: factory))
      if !isFull { series.server[key] = made }
      return made
    }
  }

  private func client(_ key: ClientKey) -> ClientSeries {
    series.withLock { series in
      if let known = series.client[key] { return known }
      let isFull = series.client.count >= Self.limit
      let dimensions = [
        ("http.request.method", isFull ? "_OTHER" : key.method.rawValue),
        ("server.address", isFull ? "_OTHER" : key.upstream),
        ("http.response.status_code", isFull ? "_OTHER" : key.outcome.statusText),
        ("error.type", isFull ? "_OTHER" : key.outcome.errorText),
      ]
      let made = ClientSeries(
        duration: Timer(label: MetricName.clientDuration.label, dimensions: dimensions, factory: factory))
      if !isFull { series.client[key] = made }
      return made
    }
  }

  /// As many as the configuration names.
  private func upstream(_ name: String) -> UpstreamSeries {
    series.withLock { series in
      if let known = series.upstreams[name] { return known }
      let dimensions = [("server.address", name)]
      let made = UpstreamSeries(
        waiting: Timer(label: MetricName.waiting.label, dimensions: dimensions, factory: factory),
        resends: Counter(label: MetricName.resends.label, dimensions: dimensions, factory: factory))
      series.upstreams[name] = made
      return made
    }
  }

  private func serverActive(_ key: ExchangeLabels) -> Meter {
    series.withLock { series in
      if let known = series.serverActive[key] { return known }
      let dimensions = [("http.request.method", key.method.rawValue), ("url.scheme", key.scheme.rawValue)]
      let made = Meter(label: MetricName.serverActive.label, dimensions: dimensions, factory: factory)
      series.serverActive[key] = made
      return made
    }
  }

  private func clientActive(_ key: ActiveKey) -> Meter {
    series.withLock { series in
      if let known = series.clientActive[key] { return known }
      let dimensions = [("http.request.method", key.method.rawValue), ("server.address", key.upstream)]
      let made = Meter(label: MetricName.clientActive.label, dimensions: dimensions, factory: factory)
      series.clientActive[key] = made
      return made
    }
  }
}

extension Timer {
  fileprivate func record(_ start: NIODeadline, _ end: NIODeadline) {
    recordNanoseconds((end - start).nanoseconds)
  }
}
