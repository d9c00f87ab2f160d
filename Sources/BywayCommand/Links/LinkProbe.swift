import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// A probe of the named links.
struct LinkProbe: Sendable {
  private static let patience = Duration.seconds(5)

  let namedLinks: NamedLinks
  let transports: TransportRegistry

  /// Returns the states that can be found without opening a link: a line may be in use.
  func glances() throws -> [String: String] {
    let ports = try transports.ports()
    return Dictionary(uniqueKeysWithValues: namedLinks.entries.map { ($0.name, glance($0, ports)) })
  }

  /// Returns the states by a round trip over each link, all at the same time.
  func pings() async -> [String: String] {
    await withTaskGroup(of: (String, String).self) { group in
      for entry in namedLinks.entries { group.addTask { (entry.name, await ping(entry)) } }
      return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
    }
  }

  private func glance(_ entry: NamedLinks.Entry, _ ports: [LinkPort]) -> String {
    let address: LinkAddress
    do {
      address = try namedLinks.link(entry, in: transports).address
    } catch {
      return BywayError(error).message
    }
    switch address.scheme {
    case "unix": return Self.exists(address) ? "there" : "no such socket"
    case "serial":
      let port = ports.first { $0.device == address.path || $0.address == "serial:\(address.path)" }
      if let unavailableReason = port?.unavailableReason { return unavailableReason }
      return port != nil || Self.exists(address) ? "there" : "not plugged in"
    default: return "not tried"
    }
  }

  private func ping(_ entry: NamedLinks.Entry) async -> String {
    do {
      let pinger = LinkPinger(try namedLinks.link(entry, in: transports), in: transports)
      let timedOut = BywayError(.timedOut, "No answer within \(Self.patience.components.seconds) seconds.")
      let roundTrip = try await withTimeLimit(Self.patience, throwing: timedOut) { try await pinger.ping() }
      let way = await pinger.proxy.map { ", through the proxy at \($0)" } ?? ""
      await pinger.shutDown()
      return "answers in \(PingStatistics.milliseconds(roundTrip)) ms\(way)"
    } catch {
      return BywayError(error).message
    }
  }

  private static func exists(_ address: LinkAddress) -> Bool {
    access((address.authority ?? "") + address.path, F_OK) == 0
  }
}
