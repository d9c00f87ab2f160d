import ArgumentParser
import Byway
import BywayProxy
import NIOCore
import NIOPosix
import Primitives

/// `byway proxy`
struct ProxyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "proxy",
    abstract: "Runs at the user's end: what arrives on one port goes over the link.",
    discussion: """
      Serves HTTP/1.1 and HTTP/2 with prior knowledge, CONNECT and WebSocket. A URL on the proxy itself means the \
      gateway's origin; as an HTTP proxy it reaches what the gateway allows.
      """)

  @OptionGroup var member: ProxyOptions
  @OptionGroup var daemon: DaemonOptions
  @OptionGroup var file: DaemonFileOptions

  init() {}

  func run() async throws { try await serve() }
}

extension ProxyCommand: DaemonCommand {
  typealias Member = Proxy
}

extension Proxy: DaemonMember {
  typealias Options = ProxyOptions

  static let kind = "proxy"

  static func places(of configuration: ProxyConfiguration) -> [String] { [configuration.listen.address.place] }

  static func start(_ configuration: ProxyConfiguration) async throws -> Proxy {
    try await start(configuration, group: MultiThreadedEventLoopGroup.singleton)
  }

  func status(named name: String, measures: Bool) async -> DaemonStatus.Member {
    let status = await linkStatus()
    var roundTrip: TimeAmount?
    // A line knows its own, and a PING would have to wait behind what it carries.
    if measures, case .open = status.state, status.line == nil {
      roundTrip = try? await withTimeLimit(.seconds(1), throwing: CancellationError()) { try await self.ping() }
    }
    let road = DaemonStatus.Road(
      link: linkAddress.publicName, status, isInbound: isDialed, roundTrip: roundTrip)
    return DaemonStatus.Member(name: name, listens: [ListenAddress.url(address)], links: [road], origins: [])
  }

  var readiness: String { "ready on \(ListenAddress.url(address)) → \(linkAddress)" }
}
