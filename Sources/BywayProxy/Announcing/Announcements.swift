package import Byway
import BywayDevices
import BywayHTTPWire
import NIOCore

/// The rules for publishing devices, and for their names. A value, for as long as a configuration is in force.
package struct AnnouncementRules: Sendable {
  /// The maximum number of published devices, as many as network discovery can hold for one machine.
  private static let limit = 256

  /// `local`, or a domain under it.
  let domain: String

  /// - Parameter suffixes: the domains of device names.
  /// - Throws: `BywayError` if none of them is under `local`, or other machines could not connect.
  package init(suffixes: [String], listen: Link) throws {
    guard let domain = suffixes.map({ $0.lowercased() }).first(where: { $0 == "local" || $0.hasSuffix(".local") })
    else {
      throw BywayError(.invalidAddress, advice: .addSuffix("local")) { advice in
        "Published names end in .local, such as printer.local: \(advice)."
      }
    }
    guard ["tcp", "tls"].contains(listen.address.scheme), let host = try? listen.address.hostPort().host,
      (try? Host(host))?.isLoopback == false
    else {
      throw BywayError(
        .invalidAddress,
        "Other machines cannot connect to \(listen.address.place), so there is nothing to publish: listen on 0.0.0.0, with TLS."
      )
    }
    self.domain = domain
  }

  /// - Parameters:
  ///   - entries: the devices.
  ///   - place: the address for clients, as bound.
  ///   - interfaces: the addresses of this machine, with their interfaces.
  func announcements(
    of entries: [DeviceEntry], at place: LinkAddress, interfaces: [(index: Int, address: SocketAddress)]
  ) -> [DeviceName: Announcement] {
    guard let bound = try? place.hostPort(), let port = bound.port.flatMap({ UInt16(exactly: $0) }) else { return [:] }
    let addresses = interfaces.compactMap { Announcement.Address($0.address, of: $0.index, listeningOn: bound.host) }
    guard !addresses.isEmpty else { return [:] }
    var announcements: [DeviceName: Announcement] = [:]
    var titles: Set<String> = []
    for entry in entries where entry.isToBeAnnounced && announcements.count < Self.limit {
      guard let name = entry.name else { continue }
      let announcement = Announcement(
        title: entry.title ?? name.text, host: "\(name).\(domain)", isSecure: place.scheme == "tls", port: port,
        addresses: addresses)
      // Two devices may share a title, two services may not (RFC 6763 §4.1.1).
      let isNew = titles.insert(announcement.title.lowercased()).inserted
      announcements[name] = isNew ? announcement : announcement.titled(apartFor: name)
    }
    return announcements
  }
}

extension DeviceEntry {
  /// Whether it is published: not if it is unplugged, or another program uses its port.
  fileprivate var isToBeAnnounced: Bool {
    switch discovery {
    case .present, nil: true
    case .away, .unavailable: false
    }
  }
}

extension Announcement.Address {
  /// - Returns: `nil` if clients cannot connect to that address.
  fileprivate init?(_ address: SocketAddress, of interface: Int, listeningOn host: String) {
    guard let ip = address.ipAddress, (try? Host(ip))?.isLoopback == false else { return nil }
    switch address {
    case .v4(let address):
      guard host == ip || host == "0.0.0.0" || host == "::" else { return nil }
      bytes = withUnsafeBytes(of: address.address.sin_addr) { Array($0) }
    case .v6(let address):
      guard host == ip || host == "::" else { return nil }
      bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
    case .unixDomainSocket: return nil
    }
    self.interface = Int32(interface)
  }
}
