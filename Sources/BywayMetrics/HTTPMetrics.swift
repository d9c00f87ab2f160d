public import Byway
public import CoreMetrics
import NIOCore
import Synchronization

/// Records exchanges with swift-metrics, under the names that OpenTelemetry has for HTTP servers and clients.
///
///     configuration.observers = [HTTPMetrics()]
///
/// For a `BywayClient`, only client metrics are recorded.
///
/// Attributes from outside are limited to few values: docs/observability.md lists all metrics. Safe on any thread.
public final class HTTPMetrics: ExchangeObserver, ExchangeReader {
  /// The attributes of an exchange that has ended.
  private struct Kind: Hashable, Sendable {
    let role: ExchangeRecord.Role
    let request: RequestLabels
    let version: ExchangeRecord.Version
    let outcome: ExchangeOutcome
    /// Empty if no device was named.
    let device: String
    /// `nil` if it was not sent.
    let upstream: String?

    /// Whether an exchange without a device, whose target is from the configuration, is of this kind.
    func includes(_ exchange: ExchangeRecord.State) -> Bool {
      role == exchange.values.arrival.role && request == exchange.values.labels && version == exchange.values.version
        && outcome == ExchangeOutcome(exchange) && exchange.values.upstream == upstream
    }
  }

  /// The metrics for the end of an exchange: found with one look-up.
  private final class Ended: Sendable {
    final class Server: Sendable {
      let active: any MeterHandler
      let duration: any TimerHandler
      let requestSize: any RecorderHandler
      let responseSize: any RecorderHandler

      init(
        active: any MeterHandler, duration: any TimerHandler, requestSize: any RecorderHandler,
        responseSize: any RecorderHandler
      ) {
        self.active = active
        self.duration = duration
        self.requestSize = requestSize
        self.responseSize = responseSize
      }

      func record(_ exchange: ExchangeRecord.State, _ end: NIODeadline) {
        active.decrement(by: 1)
        duration.record(exchange.values.begun, end)
        requestSize.record(Int64(exchange.values.requestBytes))
        responseSize.record(Int64(exchange.values.responseBytes))
      }
    }

    final class Upstream: Sendable {
      let sent: Sent
      let duration: any TimerHandler

      init(sent: Sent, duration: any TimerHandler) {
        self.sent = sent
        self.duration = duration
      }

      func record(_ exchange: ExchangeRecord.State, _ start: NIODeadline, _ end: NIODeadline) {
        sent.ended(exchange.values.attempts)
        duration.record(start, end)
      }
    }

    /// `nil` if this program itself is the client.
    let server: Server?
    /// `nil` if it was not sent.
    let upstream: Upstream?

    init(server: Server?, upstream: Upstream?) {
      self.server = server
      self.upstream = upstream
    }

    func record(_ exchange: ExchangeRecord.State, _ end: NIODeadline) {
      server?.record(exchange, end)
      if let start = exchange.values.sent { upstream?.record(exchange, start, end) }
    }
  }

  /// The attributes of an exchange that is running at an upstream.
  private struct Way: Hashable, Sendable {
    let method: RequestLabels.Method
    let upstream: String
  }

  private final class Sent: Sendable {
    let active: any MeterHandler
    let waiting: any TimerHandler
    let resends: any CounterHandler

    init(active: any MeterHandler, waiting: any TimerHandler, resends: any CounterHandler) {
      self.active = active
      self.waiting = waiting
      self.resends = resends
    }

    func began(_ exchange: ExchangeRecord.State, _ start: NIODeadline) {
      active.increment(by: 1)
      waiting.record(exchange.values.begun, start)
    }

    func ended(_ attempts: Int) {
      active.decrement(by: 1)
      if attempts > 1 { resends.increment(by: Int64(attempts - 1)) }
    }
  }

  private struct Tables: Sendable {
    var begun = RecentTable<RequestLabels, any MeterHandler>()
    var sent = RecentTable<Way, Sent>()
    var ended = RecentTable<Kind, Ended>()
    /// The series of named devices. They have a table of their own, so that many devices leave room for the other series.
    var endedAtDevices = RecentTable<Kind, Ended>(limit: 3000)
    var devices = DeviceLabels()
  }

  private let factory: any MetricsFactory
  /// The attribute of all metrics; empty without a section.
  private let section: [(String, String)]
  private let requestBytes: any CounterHandler
  private let responseBytes: any CounterHandler
  private let tables = Mutex(Tables())

  /// Creates the metrics of a backend.
  /// - Parameter factory: the backend; by default the one that the process was bootstrapped with.
  public convenience init(factory: any MetricsFactory = MetricsSystem.factory) {
    self.init(factory: factory, section: nil)
  }

  /// - Parameter section: the section of the configuration that the exchanges belong to.
  package init(factory: any MetricsFactory, section: String?) {
    self.factory = factory
    self.section = section.map { [("section", $0)] } ?? []
    requestBytes = factory.makeCounter(label: MetricName.requestBytes.label, dimensions: self.section)
    responseBytes = factory.makeCounter(label: MetricName.responseBytes.label, dimensions: self.section)
  }

  // MARK: ExchangeObserver

  /// Counts the exchange as active.
  public func exchangeBegan(_ exchange: ExchangeRecord) { began(exchange.state) }

  /// Counts the exchange as active at its upstream, and records how long it has waited.
  public func exchangeSent(_ exchange: ExchangeRecord) { sent(exchange.state) }

  /// Counts bytes of bodies.
  public func exchangeMoved(requestBytes: Int, responseBytes: Int) {
    if requestBytes > 0 { self.requestBytes.increment(by: Int64(requestBytes)) }
    if responseBytes > 0 { self.responseBytes.increment(by: Int64(responseBytes)) }
  }

  /// Records the duration and the result.
  public func exchangeEnded(_ exchange: ExchangeRecord) { ended(exchange.state) }

  // MARK: ExchangeReader

  package var readsOnlyEnds: Bool { false }

  package func began(_ exchange: ExchangeRecord.State) {
    guard case .server = exchange.values.arrival.role else { return }
    tables.withLock { begun(exchange.values.labels, &$0) }.increment(by: 1)
  }

  package func sent(_ exchange: ExchangeRecord.State) {
    guard let start = exchange.values.sent, let upstream = Self.upstream(of: exchange) else { return }
    tables.withLock { self.sent(Way(method: exchange.values.labels.method, upstream: upstream), &$0) }
      .began(exchange, start)
  }

  package func ended(_ exchange: ExchangeRecord.State) {
    guard let end = exchange.values.ended else { return }
    tables.withLock { ended(exchange, &$0) }.record(exchange, end)
  }

  /// Groups targets that clients choose, because they may choose any.
  private static func upstream(of exchange: ExchangeRecord.State) -> String? {
    exchange.values.isClientsChoice && exchange.values.upstream != nil ? "_OTHER" : exchange.values.upstream
  }

  // MARK: Metrics, created when needed

  private func begun(_ labels: RequestLabels, _ tables: inout Tables) -> any MeterHandler {
    tables.begun.value(for: labels) { _ in
      let dimensions = [("http.request.method", labels.method.rawValue), ("url.scheme", labels.scheme.rawValue)]
      return factory.makeMeter(label: MetricName.serverActive.label, dimensions: dimensions + section)
    }
  }

  private func sent(_ way: Way, _ tables: inout Tables) -> Sent {
    tables.sent.value(for: way) { isFull in
      let upstream = ("server.address", isFull ? "_OTHER" : way.upstream)
      return Sent(
        active: factory.makeMeter(
          label: MetricName.clientActive.label,
          dimensions: [("http.request.method", way.method.rawValue), upstream] + section),
        waiting: factory.makeTimer(label: MetricName.waiting.label, dimensions: [upstream] + section),
        resends: factory.makeCounter(label: MetricName.resends.label, dimensions: [upstream] + section))
    }
  }

  private func ended(_ exchange: ExchangeRecord.State, _ tables: inout Tables) -> Ended {
    // Most exchanges are of the kind of the previous one, and need no key.
    let isUsual = exchange.values.device == nil && !exchange.values.isClientsChoice
    if isUsual, let last = tables.ended.last(where: { $0.includes(exchange) }) { return last }
    let device = exchange.values.device.map { tables.devices.label(of: $0, wasSent: exchange.values.sent != nil) }
    let kind = Kind(
      role: exchange.values.arrival.role, request: exchange.values.labels, version: exchange.values.version,
      outcome: ExchangeOutcome(exchange), device: device ?? "", upstream: Self.upstream(of: exchange))
    return ended(kind, &tables)
  }

  private func ended(_ kind: Kind, _ tables: inout Tables) -> Ended {
    let isAtDevice = !kind.device.isEmpty
    if let known = isAtDevice ? tables.endedAtDevices.value(for: kind) : tables.ended.value(for: kind) { return known }
    let active = kind.role == .server ? begun(kind.request, &tables) : nil
    let sent = kind.upstream.map { self.sent(Way(method: kind.request.method, upstream: $0), &tables) }
    let make = { self.make(kind, active, sent, isFull: $0) }
    return isAtDevice
      ? tables.endedAtDevices.value(for: kind, make) : tables.ended.value(for: kind, make)
  }

  private func make(_ kind: Kind, _ active: (any MeterHandler)?, _ sent: Sent?, isFull: Bool) -> Ended {
    func attribute(_ name: String, _ value: String) -> (String, String) { (name, isFull ? "_OTHER" : value) }
    let method = attribute("http.request.method", kind.request.method.rawValue)
    let status = attribute("http.response.status_code", kind.outcome.statusText)
    let error = attribute("error.type", kind.outcome.errorText)
    let device = ("device", isFull && !kind.device.isEmpty ? "_OTHER" : kind.device)
    let server =
      [
        method, attribute("url.scheme", kind.request.scheme.rawValue),
        attribute("network.protocol.version", kind.version.rawValue), status, error, device,
      ] + section
    let client = [method, attribute("server.address", kind.upstream ?? ""), status, error, device] + section
    return Ended(
      server: active.map {
        Ended.Server(
          active: $0, duration: factory.makeTimer(label: MetricName.serverDuration.label, dimensions: server),
          requestSize: sizes(.serverRequestSize, server), responseSize: sizes(.serverResponseSize, server))
      },
      upstream: sent.map {
        Ended.Upstream(
          sent: $0, duration: factory.makeTimer(label: MetricName.clientDuration.label, dimensions: client))
      })
  }

  private func sizes(_ name: MetricName, _ dimensions: [(String, String)]) -> any RecorderHandler {
    factory.makeRecorder(label: name.label, dimensions: dimensions, aggregate: true)
  }
}

extension TimerHandler {
  fileprivate func record(_ start: NIODeadline, _ end: NIODeadline) {
    recordNanoseconds((end - start).nanoseconds)
  }
}
