package import Byway
import HTTPWire
import NIOCore

/// Who is to be announced, and under which names. A value, for as long as a configuration is in force.
package struct AnnouncementRules: Sendable {
  /// What network discovery can hold of one machine.
  private static let limit = 256

  /// Beneath `local`.
  let domain: String

  /// - Parameter suffixes: beneath which devices' names stand.
  /// - Throws: `BywayError` where none of them is beneath `local`, or nobody else could come.
  package init(suffixes: [String], listen: Link) throws {
    guard let domain = suffixes.map({ $0.lowercased() }).first(where: { $0 == "local" || $0.hasSuffix(".local") })
    else {
      throw BywayError(
        .invalidAddress, "What is published has names beneath local, as printer.local: add --suffix local.")
    }
    guard ["tcp", "tls"].contains(listen.address.scheme), let host = try? listen.address.hostPort().host,
      (try? Host(host))?.isLoopback == false
    else {
      throw BywayError(
        .invalidAddress,
        "Other machines cannot come to \(listen.address.place), so that there is nothing to publish: listen on 0.0.0.0, with TLS."
      )
    }
    self.domain = domain
  }

  /// - Parameters:
  ///   - entries: the devices that there are.
  ///   - place: where clients connect, as bound.
  ///   - interfaces: the addresses of this machine, and the interfaces that have them.
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
      // Devices may have one title, services may not (RFC 6763 §4.1.1).
      let isNew = titles.insert(announcement.title.lowercased()).inserted
      announcements[name] = isNew ? announcement : announcement.titled(apartFor: name)
    }
    return announcements
  }
}

extension DeviceEntry {
  /// Not what is unplugged, or somebody else's.
  fileprivate var isToBeAnnounced: Bool {
    switch discovery {
    case .present, nil: true
    case .away, .obstructed: false
    }
  }
}

extension Announcement.Address {
  /// - Returns: `nil` where clients cannot come by that address.
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
