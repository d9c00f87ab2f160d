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
}

extension GatewayConfiguration: MemberConfiguration {
  var tellsUsersApart: Bool { false }
  /// A gateway has no users to audit.
  var audit: (any AuditLog)? {
    get { nil }
    set {}
  }
}
