package import Byway
import BywayInterceptors
import HTTPTypes
package import Logging
import NIOCore
import NIOPosix
import Synchronization

/// An interceptor outside of this process: an HTTP server on any link, which answers a request or sends it on to its next hop.
///
/// The next hop is a Unix socket of this process. A request that arrives there continues with the interceptor after this one.
/// Connections are opened by the first request. Safe on any thread.
package final class Plugin: Interceptor {
  /// The link of a plugin, and the address of its next hop.
  package struct Endpoints: Sendable {
    let link: Link
    let next: Link
    var upgrades: [UpgradeProtocol]
    var logger: Logger

    /// - Parameters:
    ///   - next: the Unix socket to listen on, in a private folder.
    ///   - upgrades: the protocols that the plugin's requests may upgrade to, besides the usual ones.
    package init(link: Link, next: Link, upgrades: [UpgradeProtocol] = [], logger: Logger) {
      self.link = link
      self.next = next
      self.upgrades = upgrades
      self.logger = logger
    }

    /// Whether Byway starts it.
    var isProgram: Bool { link.address.scheme == "exec" }
  }

  private struct State {
    var service: Task<PluginConnection, any Error>?
    var figures = PluginFigures()
    /// The time for its exchanges since it was removed from the configuration; `nil` before.
    var drain: Duration?
  }

  /// The number of bytes of a body that are kept, so that the request can go on without the plugin.
  private static let keptBytes = 64 << 10

  package let settings: PluginSettings
  private let endpoints: Endpoints
  private let state = Mutex(State())
  private let log = Mutex(RecurrenceLog())

  package var scope: Scope { settings.scope }

  package init(_ settings: PluginSettings, at endpoints: Endpoints) {
    self.settings = settings
    var endpoints = endpoints
    endpoints.logger[metadataKey: "plugin"] = "\(settings.name)"
    self.endpoints = endpoints
  }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    // The bytes of a tunnel are no messages: a plugin gets one only if its scope says so.
    if request.head.kind == .connect, !scope.methods.contains(.connect) { return try await next(request) }
    state.withLock { $0.figures.requests += 1 }
    var request = request
    var kept: KeptBody?
    if settings.onFailure == .bypass {
      let body = KeptBody(request.body, upTo: Self.keptBytes)
      request.body = body.body
      kept = body
    }
    let exchange = PluginExchange(request, next: next, settings)
    do {
      return try await respond(to: request, exchange, on: next.exchanges?.eventLoop)
    } catch {
      let hasForwarded = exchange.close()
      let (failure, kind) = try self.failure(error, of: request, exchange.failing, hasForwarded: hasForwarded)
      state.withLock { $0.figures.failures[kind, default: 0] += 1 }
      let isSafe = !hasForwarded || RetryRules.permit(Self.lost, request: request.head)
      let bypasses = isSafe && kept?.isRepeatable == true
      tell(failure, bypasses)
      guard bypasses else { throw failure }
      return try await next(request)
    }
  }

  private func respond(
    to request: Request, _ exchange: PluginExchange, on eventLoop: (any EventLoop)?
  ) async throws -> Response {
    let (service, entry) = try await enter(exchange, on: eventLoop)
    if let token = request.head.headerFields[.exchange], service.exchanges[token] != nil {
      state.withLock { $0.figures.failures[.loop, default: 0] += 1 }
      throw BywayError(
        .loopDetected,
        "The plugin \(settings.name) has sent a request to this hop itself, not to its next hop \(service.next).",
        processing: .none)
    }
    let sent = prepared(request, exchange, entry.token, service)
    let attempt = Task(executorPreference: service.executor) { try await service.client.send(sent) }
    exchange.watch(attempt, on: service.client.eventLoop)
    var response = try await withTaskCancellationHandler {
      try await attempt.value
    } onCancel: {
      attempt.cancel()
    }
    exchange.settle()
    if exchange.failing != nil { throw CancellationError() }
    state.withLock { $0.figures.answered(in: exchange.ownTime) }
    try exchange.check(response.head.headerFields)
    for note in PluginNotes.take(from: &response.head.headerFields) { request.note(note, by: settings.name) }
    return Response(response.head, body: response.body.holding(entry))
  }

  /// Adds an exchange to the running ones. If the plugin was removed and is ending, it is started again after that: an earlier
  /// interceptor had the request meanwhile.
  private func enter(
    _ exchange: PluginExchange, on eventLoop: (any EventLoop)?
  ) async throws -> (PluginConnection, RunningExchanges.Entry) {
    while true {
      let (task, service, drain) = try await service(on: eventLoop)
      if let entry = service.exchanges.add(exchange) {
        if let drain { Task { await shutDown(within: drain) } }
        return (service, entry)
      }
      await service.untilStopped()
      try Task.checkCancellation()
      forget(task)
    }
  }

  /// Returns the request for the plugin.
  private func prepared(
    _ request: Request, _ exchange: PluginExchange, _ token: String, _ service: PluginConnection
  ) -> Request {
    var sent = Request(request.head, body: request.body.paced(by: exchange), deadline: request.deadline)
    sent.onInformational = request.onInformational
    sent.head.headerFields[.proxyAuthorization] = nil
    sent.head.headerFields[.exchange] = token
    sent.head.headerFields[.next] = service.next
    return sent
  }

  // MARK: Failures

  private static let lost = BywayError(.linkLost, "")

  /// Returns the failure of the plugin.
  /// - Throws: An error that is not the plugin's.
  private func failure(
    _ thrown: any Error, of request: Request, _ failing: PluginExchange.Failing?, hasForwarded: Bool
  ) throws -> (BywayError, PluginFigures.Failure) {
    let error = BywayError(thrown)
    if Task.isCancelled || error.code == .loopDetected { throw error }
    if let deadline = request.deadline, deadline <= .now() { throw error }
    let processing = hasForwarded ? BywayError.Processing.possible : .none
    func failure(_ message: String, cause: (any Error)? = nil) -> BywayError {
      BywayError(.pluginFailed, message, processing: processing, cause: cause)
    }
    if let refusal = thrown as? ForwardingRules.Refusal {
      return (failure(PluginExchange.explain(refusal, of: settings.name).message), .refused)
    }
    switch failing {
    case .refused(let refusal):
      return (failure(PluginExchange.explain(refusal, of: settings.name).message), .refused)
    case .late:
      return (failure("The plugin \(settings.name) did not answer within \(settings.timeout.inSeconds)."), .late)
    case nil:
      return (
        failure("The plugin \(settings.name) did not answer: \(error.message)", cause: error),
        PluginFigures.Failure(error)
      )
    }
  }

  private func tell(_ failure: BywayError, _ bypasses: Bool) {
    var facts: Logger.Metadata = ["reason": "\(failure.message)"]
    var level = Logger.Level.debug
    if case .line(let repeated) = log.withLock({ $0.failed(because: failure.message, at: .now()) }) {
      level = .warning
      if repeated > 0 { facts["repeated"] = "\(repeated)" }
    }
    endpoints.logger.log(
      level: level, bypasses ? "A request goes on without its plugin" : "A request fails because of its plugin",
      metadata: facts)
  }

  // MARK: Life cycle

  /// Starts the program with the daemon, if the settings say so.
  package func start() async {
    guard settings.start == .now else { return }
    do {
      try await service(on: nil).service.open()
    } catch {
      endpoints.logger.warning("A plugin cannot be started", metadata: ["reason": "\(BywayError(error).message)"])
    }
  }

  /// - Returns: The service. If the plugin was removed before this service was started, also the time for its exchanges.
  private func service(
    on eventLoop: (any EventLoop)?
  ) async throws -> (task: Task<PluginConnection, any Error>, service: PluginConnection, drain: Duration?) {
    let (task, drain) = state.withLock { state in
      if let task = state.service { return (task, Duration?.none) }
      let started = Task { [endpoints, settings] in
        try await PluginConnection.start(
          endpoints, settings, on: eventLoop ?? MultiThreadedEventLoopGroup.singleton.any())
      }
      state.service = started
      return (started, state.drain)
    }
    do {
      return (task, try await task.value, drain)
    } catch {
      // The next request tries again.
      forget(task)
      throw error
    }
  }

  private func forget(_ task: Task<PluginConnection, any Error>) {
    state.withLock { if $0.service == task { $0.service = nil } }
  }

  package func shutDown() async {
    await shutDown(within: .seconds(30))
  }

  /// Ends the program when its exchanges have ended, or when the time for that is over.
  package func shutDown(within drain: Duration) async {
    let task = state.withLock { state in
      state.drain = drain
      return state.service
    }
    guard let task else { return }
    try? await task.value.stop(within: drain)
    forget(task)
  }

  // MARK: Status

  /// The number of exchanges that have not ended.
  package var runningExchanges: Int {
    get async { (try? await state.withLock(\.service)?.value.exchanges.count) ?? 0 }
  }

  package var status: PluginStatus {
    get async {
      let (task, figures) = state.withLock { ($0.service, $0.figures) }
      let link = endpoints.link.address.publicName
      guard let service = try? await task?.value, let status = await service.status else {
        return PluginStatus(name: settings.name, link: link, state: .notStarted, figures: figures)
      }
      let programs = service.programs
      // Over HTTP/1.1, each concurrent request has a program of its own.
      let restarts = endpoints.link.framing == .http2 ? max(0, programs.starts - 1) : 0
      return PluginStatus(
        name: settings.name, link: link,
        state: .init(status, isProgram: endpoints.isProgram, start: programs.latestStart),
        processIDs: programs.processIDs, restarts: restarts, running: service.exchanges.count, figures: figures)
    }
  }
}

extension PluginFigures.Failure {
  /// The kind of a failure to get a response.
  init(_ error: BywayError) {
    self =
      switch error.code {
      case .linkUnavailable, .originUnavailable, .originUntrusted, .refused: .unavailable
      case .protocolViolation, .tooLarge: .invalid
      case .timedOut: .late
      default: .lost
      }
  }
}
