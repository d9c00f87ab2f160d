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
  /// The link of a plugin, and the place of its next hop.
  package struct Place: Sendable {
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
  }

  /// The number of bytes of a body that are kept, so that the request can go on without the plugin.
  private static let keptBytes = 64 << 10

  package let settings: PluginSettings
  private let place: Place
  private let service = Mutex<Task<PluginService, any Error>?>(nil)
  private let log = SharedSparseLog()

  package var scope: Scope { settings.scope }

  package init(_ settings: PluginSettings, at place: Place) {
    self.settings = settings
    var place = place
    place.logger[metadataKey: "plugin"] = "\(settings.name)"
    self.place = place
  }

  /// The number of exchanges that have not ended.
  package var runningExchanges: Int {
    get async { (try? await service.withLock { $0 }?.value.exchanges.count) ?? 0 }
  }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    // The bytes of a tunnel are no messages: a plugin gets one only if its scope says so.
    let isTunnel = request.head.method == .connect && request.head.extendedConnectProtocol == nil
    if isTunnel, !scope.methods.contains(.connect) { return try await next(request) }
    var request = request
    var kept: KeptBody?
    if settings.onFailure == .bypass {
      let body = KeptBody(request.body, upTo: Self.keptBytes)
      request.body = body.body
      kept = body
    }
    let exchange = PluginExchange(request, next: next, timeout: settings.timeout)
    do {
      return try await respond(to: request, exchange, on: next.exchanges?.eventLoop)
    } catch {
      let hasForwarded = exchange.close()
      let failure = try self.failure(error, of: request, isLate: exchange.isLate, hasForwarded: hasForwarded)
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
    let service = try await service(on: eventLoop)
    if let token = request.head.headerFields[.exchange], service.exchanges[token] != nil {
      throw BywayError(
        .loopDetected,
        "The plugin \(settings.name) has sent a request to this hop itself, not to its next hop \(service.next).",
        processing: .none)
    }
    let entry = service.exchanges.add(exchange)
    var sent = Request(request.head, body: request.body.paced(by: exchange), deadline: request.deadline)
    sent.onInformational = request.onInformational
    sent.head.headerFields[.proxyAuthorization] = nil
    sent.head.headerFields[.exchange] = entry.token
    sent.head.headerFields[.next] = service.next
    let complete = sent
    let attempt = Task(executorPreference: service.executor) { try await service.client.send(complete) }
    exchange.watch(attempt, on: service.client.eventLoop)
    let response = try await withTaskCancellationHandler {
      try await attempt.value
    } onCancel: {
      attempt.cancel()
    }
    exchange.settle()
    return Response(response.head, body: response.body.holding(entry))
  }

  // MARK: Failures

  private static let lost = BywayError(.linkLost, "")

  /// Returns the failure of the plugin.
  /// - Throws: An error that is not the plugin's.
  private func failure(
    _ error: any Error, of request: Request, isLate: Bool, hasForwarded: Bool
  ) throws -> BywayError {
    let error = BywayError(error)
    if Task.isCancelled || error.code == .loopDetected { throw error }
    if let deadline = request.deadline, deadline <= .now() { throw error }
    let processing = hasForwarded ? BywayError.Processing.possible : .none
    guard isLate else {
      return BywayError(
        .pluginFailed, "The plugin \(settings.name) did not answer: \(error.message)", processing: processing,
        cause: error)
    }
    return BywayError(
      .pluginFailed, "The plugin \(settings.name) did not answer within \(settings.timeout.inSeconds).",
      processing: processing)
  }

  private func tell(_ failure: BywayError, _ bypasses: Bool) {
    guard let keptBack = log.admit(at: .now()) else { return }
    var facts: Logger.Metadata = ["reason": "\(failure.message)"]
    if keptBack > 0 { facts["repeated"] = "\(keptBack)" }
    place.logger.warning(
      bypasses ? "A request goes on without its plugin" : "A request fails because of its plugin", metadata: facts)
  }

  // MARK: Life cycle

  private func service(on eventLoop: (any EventLoop)?) async throws -> PluginService {
    let task = service.withLock { task in
      if let task { return task }
      let started = Task { [place, settings] in
        try await PluginService.start(
          place, timeout: settings.timeout, on: eventLoop ?? MultiThreadedEventLoopGroup.singleton.any())
      }
      task = started
      return started
    }
    do {
      return try await task.value
    } catch {
      // The next request tries again.
      service.withLock { if $0 == task { $0 = nil } }
      throw error
    }
  }

  package func shutDown() async {
    guard let task = service.withLock({ $0.take() }) else { return }
    try? await task.value.stop()
  }
}
