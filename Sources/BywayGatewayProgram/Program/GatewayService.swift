import Byway
import BywayDaemonProcess
import BywayGateway
import BywayTerminal
import Logging

/// A gateway as the service of its process.
actor GatewayService: Service {
  private let gateway: Gateway
  private let manager: ServiceManager
  private let drain: Seconds
  private let tally: ExchangeTally
  private let logger: Logger
  private var stopping: Task<Void, Never>?

  /// Starts the gateway.
  /// - Throws: `BywayError` if it cannot listen on a link, or the origin cannot be used.
  static func start(
    _ configuration: GatewayConfiguration, drain: Seconds, under manager: ServiceManager
  ) async throws -> GatewayService {
    var configuration = configuration
    let tally = ExchangeTally()
    configuration.tally = tally
    return GatewayService(
      try await Gateway.start(configuration), drain, tally, manager, logger: configuration.logger)
  }

  private init(
    _ gateway: Gateway, _ drain: Seconds, _ tally: ExchangeTally, _ manager: ServiceManager, logger: Logger
  ) {
    self.gateway = gateway
    self.drain = drain
    self.tally = tally
    self.manager = manager
    self.logger = logger
  }

  var readyNotices: [ReadyNotice] {
    let readiness = gateway.readiness
    return [ReadyNotice(words: "gateway \(readiness.words)", facts: [("gateway", "")] + readiness.facts)]
  }

  var statusLine: String {
    get async {
      let open = await gateway.openLinks()
      let addresses = gateway.addresses
      let up = addresses.count { address in open.contains { $0.address == address && $0.interruption == nil } }
      return tally.statusLine(linksUp: up, of: addresses.count)
    }
  }

  func waitUntilEnded() async throws {
    try await gateway.waitUntilEnded()
    // The links have ended, and requests on them may still finish.
    await stopping?.value
  }

  func stop() async {
    let task = stopping ?? beginToStop()
    await task.value
  }

  private func beginToStop() -> Task<Void, Never> {
    manager.stopping(within: drain.amount)
    let task = Task { [gateway, drain] in await gateway.stop(within: drain.duration) }
    stopping = task
    return task
  }

  func reload() -> ReloadResult {
    let failure = CommandFailure(.unavailable, "SIGHUP changes nothing, as there is no configuration file: restart it.")
    logger.notice("\(failure.message)")
    return .refused([failure])
  }
}
