import Byway
import BywayGateway
import BywayProxy
import NIOPosix

extension Gateway: DaemonMember {
  static let kind = "gateway"

  static func places(of configuration: GatewayConfiguration) -> [String] {
    configuration.links.filter { $0.opening != .dial }.map(\.address.place)
  }

  static func make(_ configuration: GatewayConfiguration) throws -> Gateway {
    try Gateway(configuration, group: MultiThreadedEventLoopGroup.singleton.any())
  }

  func status(named name: String, measures: Bool) async -> DaemonStatus.Member {
    let open = await openLinks()
    let statuses = endpoints.map { endpoint in
      DaemonStatus.Link(
        served: endpoint.address, open.filter { $0.address == endpoint.address }, endpoint.state)
    }
    let origin = DaemonStatus.Link(origin: origin.text, await originStatus() ?? UpstreamStatus(.idle))
    return DaemonStatus.Member(
      name: name, listens: [], links: statuses, origins: [origin])
  }

  /// The notice counts listening links as ready. Dialed links are for the log, as their far end may not be there.
  var readiness: ReadyNotice {
    func places(_ dials: Bool) -> String {
      zip(links, addresses).filter { ($0.0.opening == .dial) == dials }.map(\.1.text).joined(separator: " ")
    }
    let (listening, dialing) = (places(false), places(true))
    let beginning = listening.isEmpty ? "started" : "ready on \(listening)"
    return ReadyNotice(
      words: dialing.isEmpty ? beginning : "\(beginning), dials \(dialing)",
      facts: [("listens", listening), ("dials", dialing)].filter { !$0.1.isEmpty })
  }
}

extension GatewayConfiguration: MemberConfiguration {
  var tellsUsersApart: Bool { false }
  /// A gateway has no users to audit.
  var audit: (any AuditLog)? {
    get { nil }
    set {}
  }
}
