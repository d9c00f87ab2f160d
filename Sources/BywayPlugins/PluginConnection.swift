import Byway
import BywayLibC
import BywayPrimitives
import BywayProxy
import HTTPTypes
import Logging
import NIOCore
import Synchronization

/// The connections to a plugin, and the server at which it sends requests on.
final class PluginConnection: Sendable {
  private enum Stopping {
    case awaited([AsyncStream<Void>.Continuation])
    case stopped
  }

  /// The maximum number of the plugin's connections to its next hop.
  private static let connectionLimit = 1024
  /// How long a program may take to end after each request to do so: the end of its input, SIGTERM, SIGKILL.
  ///
  /// A connection with a running exchange stays open, so such a program gets no end of its input before SIGTERM.
  private static let grace = Duration.seconds(2)

  let client: ExchangeClient
  let executor: LoopExecutor
  /// The address of the next hop.
  let next: String
  let exchanges: RunningExchanges
  let programs: StartedPrograms
  private let upstream: OwnedUpstream
  private let acceptor: Acceptor
  private let stopping = Mutex(Stopping.awaited([]))

  /// Listens at the next hop. The plugin is dialed by the first request.
  static func start(
    _ endpoints: Plugin.Endpoints, _ settings: PluginSettings, on eventLoop: any EventLoop
  ) async throws -> PluginConnection {
    let exchanges = RunningExchanges()
    let executor = LoopExecutor(eventLoop)
    let hop = Hop.pseudonym("plugin")
    let acceptor = try await Acceptor.start(
      on: [endpoints.next], group: eventLoop, limit: ConnectionLimit(connectionLimit), logger: endpoints.logger
    ) { channel, _, logger in
      var configuration = ServerConfiguration(hop: hop, logger: logger)
      // It may pass on the marks of an upgrade, which the serving connection has made.
      configuration.trustsTargetForm = true
      configuration.upgrades = UpgradeRules(allowing: endpoints.upgrades)
      return try IngressConnection.start(
        on: channel,
        handler: AsyncExchangeHandler(on: executor, isLast: false) { try await exchanges.forward($0) },
        configuration: configuration)
    }
    return PluginConnection(endpoints, settings, exchanges, acceptor, executor)
  }

  private init(
    _ endpoints: Plugin.Endpoints, _ settings: PluginSettings, _ exchanges: RunningExchanges, _ acceptor: Acceptor,
    _ executor: LoopExecutor
  ) {
    self.exchanges = exchanges
    self.acceptor = acceptor
    self.executor = executor
    next = acceptor.addresses.first?.place ?? endpoints.next.address.place
    programs = StartedPrograms(name: settings.name)
    let dialer = Dialer(
      endpoints.link, environment: ["BYWAY_NEXT": next], programs: programs, peer: .plugin(settings.name),
      logger: endpoints.logger)
    let upstream = Self.upstream(endpoints, settings, dialer, on: executor.eventLoop)
    self.upstream = OwnedUpstream(upstream, on: executor.eventLoop)
    client = ExchangeClient(upstream, on: executor)
  }

  private static func upstream(
    _ endpoints: Plugin.Endpoints, _ settings: PluginSettings, _ dialer: Dialer, on eventLoop: any EventLoop
  ) -> any Upstream {
    // Half of the plugin's time is for its start.
    let patience = TimeAmount.nanoseconds(settings.timeout.nanoseconds / 2)
    // A program is started again until then. A server that is down is a failure at once, but may be slow to answer.
    let isProgram = endpoints.isProgram
    switch endpoints.link.framing {
    case .http1:
      var configuration = HTTP1Upstream.Configuration.defaults
      configuration.repetition = .unprocessed
      // A kept connection may be closing. It is not used where another one costs little, because a request lost on it is not repeated.
      configuration.reuse = isProgram ? .forAll : .forRepeatable
      configuration.patience = isProgram ? patience : .zero
      configuration.connectTimeout = patience
      // The plugin waits for the target, whose own deadlines count.
      configuration.responseTimeout = .hours(24)
      configuration.bodyTimeout = nil
      return HTTP1Upstream(
        dialer: dialer, on: eventLoop, hop: nil, configuration: configuration, logger: endpoints.logger)
    case .http2:
      var configuration = HTTP2Upstream.Configuration.defaults
      configuration.repetition = .unprocessed
      configuration.isKeptOpen = settings.start == .now
      configuration.patience = isProgram ? patience : .zero
      configuration.connectTimeout = patience
      configuration.serverKind = .gateway
      return HTTP2Upstream(
        dialer: dialer, on: eventLoop, hop: nil, configuration: configuration, logger: endpoints.logger)
    }
  }

  /// Starts the program.
  func open() {
    upstream.open()
  }

  var status: UpstreamStatus? {
    get async { await upstream.status }
  }

  /// Ends when all exchanges have ended, or when the time for that is over. Then the program ends. From that time on, it takes no
  /// exchanges.
  func stop(within drain: Duration) async {
    defer { noteStop() }
    upstream.retire()
    await limited(drain) { [exchanges] in await exchanges.closeWhenEmpty() }
    exchanges.close()
    await upstream.shutDown()
    await acceptor.stop(within: .zero)
    for signal in [nil, SIGTERM, SIGKILL] {
      if programs.processIDs.isEmpty { return }
      if let signal { programs.signal(signal) }
      await limited(Self.grace) { [programs] in await programs.untilNoneRuns() }
    }
  }

  /// Waits until it has stopped, or until the task is cancelled. ``stop(within:)`` limits the time.
  func untilStopped() async {
    let (end, waiter) = AsyncStream.makeStream(of: Void.self)
    stopping.withLock { stopping in
      guard case .awaited(let waiters) = stopping else { return waiter.finish() }
      stopping = .awaited(waiters + [waiter])
    }
    for await _ in end {}
  }

  private func noteStop() {
    let waiters = stopping.withLock { stopping in
      guard case .awaited(let waiters) = stopping else { return [AsyncStream<Void>.Continuation]() }
      stopping = .stopped
      return waiters
    }
    for waiter in waiters { waiter.finish() }
  }

  private func limited(_ limit: Duration, _ wait: @escaping @Sendable () async -> Void) async {
    try? await withTimeLimit(limit, throwing: CancellationError()) { await wait() }
  }
}
