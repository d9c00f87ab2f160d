import Byway
import BywayDaemon
import BywayGateway
import BywayInspector
import BywayInterceptors
import BywayLineLayer
import BywayProxy
import BywayTerminal
import Logging
import NIOCore

/// Everything that the demo runs: an origin without a port, a gateway, a bad serial line, and a proxy.
struct DemoStage {
  let line: DemoLine
  /// The proxy's URL, without a slash at the end.
  let url: String
  let proxyAddress: LinkAddress
  private let gateway: Gateway
  private let proxy: Proxy
  /// `nil` without an inspector.
  private let inspector: InspectorService?

  /// - Parameter isInspected: Whether to serve the inspector's page.
  static func start(
    listen: Link, isInspected: Bool, seed: UInt64?, transports: TransportRegistry, observer: (any Interceptor)?,
    logger: Logger
  ) async throws -> DemoStage {
    let line = try DemoLine(seed: seed)
    do {
      let origin = DemoOrigin()
      var gatewayConfiguration = GatewayConfiguration(
        links: [try transports.link(line.deviceLink)], origin: .handler { try await origin.respond(to: $0) })
      gatewayConfiguration.logger = logger
      let gateway = try await Gateway.start(gatewayConfiguration)
      do {
        var proxyConfiguration = ProxyConfiguration(link: try transports.link(line.hostLink), listen: listen)
        let seen = isInspected ? Inspector() : nil
        let rules = seen.map { InspectorRules(of: $0) }
        // Requests wait for the cable as long as the session over it does.
        proxyConfiguration.patience = .seconds(30)
        proxyConfiguration.interceptors = (observer.map { [$0] } ?? []) + (rules.map { [$0] } ?? [])
        proxyConfiguration.logger = logger
        proxyConfiguration.observers = seen.map { [$0] } ?? []
        let proxy = try await Proxy.start(proxyConfiguration)
        let page = try transports.link("tcp://127.0.0.1:0")
        return DemoStage(
          line: line, url: proxy.address.clientURL, proxyAddress: proxy.address, gateway: gateway,
          proxy: proxy, inspector: try await Self.inspector(seen, of: proxy, rules, line, on: page, logger))
      } catch {
        await gateway.stop(within: .zero)
        throw error
      }
    } catch {
      line.close()
      throw error
    }
  }

  private static func inspector(
    _ seen: Inspector?, of proxy: Proxy, _ rules: InspectorRules?, _ line: DemoLine, on listen: Link, _ logger: Logger
  ) async throws -> InspectorService? {
    guard let seen else { return nil }
    let actions = InspectorActions(
      send: { request, _ in try await proxy.send(request, from: Resending.listener) }, rules: rules,
      line: line)
    let feed = InspectorFeed(seen, actions)
    do {
      return try await InspectorService(feed, on: listen, logger: logger) {
        await proxy.status(named: "", measures: false).links.flatMap { LinkSnapshot.all(of: $0) }
      }
    } catch {
      await proxy.stop(within: .zero)
      throw error
    }
  }

  func waitUntilEnded() async throws {
    try await gateway.waitUntilEnded()
  }

  /// Stops the client's side first, so that the link is idle when the gateway closes it.
  func stop(within patience: Duration) async {
    await inspector?.stop()
    await proxy.stop(within: patience)
    await gateway.stop(within: patience)
    line.close()
  }

  /// Measures a round trip between proxy and gateway.
  func ping() async throws -> TimeAmount { try await proxy.ping() }

  /// Returns the statistics of the line layers at both ends; `nil` while there is no session.
  func lineStatistics() async -> (host: LineStatistics?, device: LineStatistics?) {
    (await proxy.lineStatistics(), await gateway.lineStatistics().first)
  }

  /// Returns the introduction. No line is longer than a terminal of 80 columns, unless the address is.
  /// - Parameter isSeen: Whether it goes to a terminal, so that the inspector's URL may contain the token.
  func introduction(_ style: TextStyle, isSeen: Bool) -> [String] {
    [
      style.bold("A service without a network, as if it were on it:"),
      "",
      "  curl, browser ─► proxy \(style.accent(url)) ─► serial line ─► gateway",
      "",
      "The service is a Swift function. The line is emulated: \(DemoLine.baud) baud, one bit",
      "in 100,000 arrives wrong, and every \(DemoLine.logInterval.components.seconds) s a boot log writes into it.",
      "Run it with --seed \(line.seed) to have the same errors again.",
      "",
      "  open  \(style.accent(url + "/"))",
      "  look  \(style.accent((isSeen ? inspector?.url : inspector?.place) ?? ""))",
      "        at the requests, and what they wait for",
      "  try   curl \(url)/status",
      "        curl -N \(url)/events",
      "        curl -o /dev/null '\(url)/big?bytes=200000'",
      "        curl -T FILE \(url)/upload",
      "  keys  p  pull the cable; p again, and what was under way goes on",
      "        e  more errors: \(DemoNoise.levels.map(\.name).joined(separator: ", "))",
      "        q  quit",
      "",
      style.faint("Every request as it passes. The last line is the serial one: what it carries of"),
      style.faint("what it could, its delay, bits that arrived wrong, frames that were sent again."),
      "",
      style.faint(PrintedExchange.heading),
    ]
  }
}
