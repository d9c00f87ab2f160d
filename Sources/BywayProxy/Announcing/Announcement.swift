import Byway
import NIOCore

/// What the network is told of a device: a service of DNS-SD (RFC 6763), and a host name of mDNS (RFC 6762) with its addresses. A value.
struct Announcement: Sendable, Hashable {
  /// An address, and the interface beyond which it is told.
  struct Address: Sendable, Hashable {
    let interface: Int32
    /// 4 bytes or 16, in the network's order.
    let bytes: [UInt8]
  }

  /// Labels of DNS have so many bytes at most (RFC 1035 §2.3.4).
  private static let labelLimit = 63

  /// The service's, as people read it: at most 63 bytes of UTF-8.
  let title: String
  /// `printer.local`
  let host: String
  /// `_http._tcp`
  let service: String
  let port: UInt16
  let addresses: [Address]

  /// - Parameters:
  ///   - title: may be longer than a label.
  ///   - host: beneath `local`.
  ///   - isSecure: TLS is spoken on the port.
  init(title: String, host: String, isSecure: Bool, port: UInt16, addresses: [Address]) {
    self.title = title.prefix(bytes: Self.labelLimit)
    self.host = host
    service = isSecure ? "_https._tcp" : "_http._tcp"
    self.port = port
    self.addresses = addresses
  }

  /// The same under a title that no other device here has.
  func titled(apartFor name: DeviceName) -> Announcement {
    Announcement(
      title: title.prefix(bytes: Self.labelLimit - name.text.utf8.count - 3) + " (\(name))", host: host,
      isSecure: service == "_https._tcp", port: port, addresses: addresses)
  }
}

extension String {
  /// As many whole characters as have room.
  fileprivate func prefix(bytes limit: Int) -> String {
    var kept = Substring(self)
    while kept.utf8.count > max(limit, 0) { kept.removeLast() }
    return String(kept)
  }
}
