import Byway
import BywayHTTPWire
import Logging
import NIOCore
import TestWire

/// A served HTTP/1.1 connection with a raw client and a scripted handler.
struct HTTP1ServerFixture {
  let client: WireEnd
  let handler: ScriptedHandler
  let connection: Unshared<HTTP1ServerConnection>
  let watch: Watch

  /// - Parameter first: sent before the connection is served, so that it arrives within the shortest timeout.
  init(
    _ first: String? = nil, timeouts: ServerConfiguration.Timeouts = .init(),
    observers: [any ExchangeObserver] = [], upgrades: [UpgradeProtocol] = [],
    memory: MemoryBudget = .shared, probing interval: TimeAmount? = nil,
    answer: (@Sendable (ScriptedExchange) -> Void)? = nil
  ) async throws {
    let eventLoop = TestLoops.next()
    watch = Watch(eventLoop)
    handler = ScriptedHandler(on: eventLoop, answer: answer)
    let channel: any Channel
    (client, channel) = try await WireEnd.pair(on: eventLoop) { $0.prepareForHandover() }
    if let first { try await client.send(first) }
    var configuration = ServerConfiguration.test
    configuration.timeouts = timeouts
    configuration.upgrades.allowed = upgrades
    configuration.memory = memory
    if let interval { configuration.absence = .init(first: interval, next: interval) }
    configuration.observation = Observation(observers, listener: "unix:/listener", traces: TraceSource())
    connection = try await watch.run { [handler, configuration] in
      Unshared(HTTP1ServerConnection.start(on: channel, handler: handler, configuration: configuration))
    }
  }

  /// Sends a request, and returns its exchange.
  /// - Parameter head: the begin of the response; none by default.
  func exchange(_ request: String, begin head: FieldSection? = nil) async throws -> ScriptedExchange {
    try await client.send(request)
    let exchange = try await handler.exchange()
    if let head { try await exchange.begin(head) }
    return exchange
  }

  func drain() async throws {
    try await watch.run { [connection] in connection.value.drain() }
  }
}

extension FieldSection {
  /// Returns all lines except the given ones, as "name: value".
  func text(without left: KnownField...) -> [String] {
    lines.filter { !left.contains($0.field) }.map { "\(name(of: $0)): \(value(of: $0))" }
  }
}

extension ServerConfiguration {
  static var test: ServerConfiguration {
    ServerConfiguration(hop: "hop", logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }
}
