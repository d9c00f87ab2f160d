import Byway
import BywayDaemonProcess
import BywayDevices
import BywayInspector
import BywayPrimitives
import BywayProxy
import NIOCore
import NIOPosix

extension Proxy: DaemonMember {
  static let kind = "proxy"
  static let sends = true

  static func places(of configuration: ProxyConfiguration) -> [String] { [configuration.listen.address.place] }

  func send(_ request: Request, at listener: String) async throws -> Response? {
    guard [address.text, configuredAddress.text, Resending.listener].contains(listener) else { return nil }
    return try await send(request, from: Resending.listener)
  }

  static func make(_ configuration: ProxyConfiguration) throws -> Proxy {
    try Proxy(configuration, group: MultiThreadedEventLoopGroup.singleton)
  }

  func status(named name: String, measures: Bool) async -> DaemonStatus.Member {
    let devices = await devices()
    let links = await withTaskGroup(of: (Int, DaemonStatus.Link).self) { group in
      for (index, device) in devices.enumerated() {
        group.addTask { (index, await self.linkStatus(to: device, measures: measures)) }
      }
      return await group.reduce(into: [Int: DaemonStatus.Link]()) { $0[$1.0] = $1.1 }
    }
    return DaemonStatus.Member(
      name: name, listens: [address.clientURL], links: devices.indices.compactMap { links[$0] }, origins: [],
      hubs: await hubs())
  }

  private func linkStatus(to device: DeviceEntry, measures: Bool) async -> DaemonStatus.Link {
    var roundTrip: TimeAmount?
    // A line measures its own round trip, and a PING would wait behind the line's traffic.
    if measures, case .open = device.status.state, device.status.line == nil {
      roundTrip = try? await withTimeLimit(.seconds(1), throwing: CancellationError()) {
        try await self.ping(device.name)
      }
    }
    return DaemonStatus.Link(
      link: device.addresses.first?.publicName ?? "", device: device.name?.text, device.status,
      isInbound: device.isInbound, roundTrip: roundTrip)
  }

  var readiness: ReadyNotice {
    get async {
      let devices = await devices()
      let count = devices.count { $0.name != nil }
      let named = count == 1 ? "1 device" : "\(count) devices"
      let url = address.clientURL
      guard let link = devices.first(where: { $0.name == nil })?.addresses.first else {
        return ReadyNotice(words: "ready on \(url) for \(named)", facts: [("listens", url)])
      }
      return ReadyNotice(
        words: "ready on \(url) → \(link)\(count == 0 ? "" : " and \(named) by name")",
        facts: [("listens", url), ("link", "\(link)")])
    }
  }
}

extension ProxyConfiguration: MemberConfiguration {
  var tellsUsersApart: Bool { users != nil }
}
