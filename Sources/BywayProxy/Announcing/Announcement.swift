import Byway
import NIOCore

/// The published entries of a device: a DNS-SD service (RFC 6763), and an mDNS host name (RFC 6762) with its addresses. A value.
struct Announcement: Sendable, Hashable {
  /// An address, and the interface on which it is published.
  struct Address: Sendable, Hashable {
    let interface: Int32
    /// 4 or 16 bytes, in network order.
    let bytes: [UInt8]
  }

  /// The maximum length of a DNS label in bytes (RFC 1035 §2.3.4).
  private static let labelLimit = 63

  /// The service's name for people: at most 63 bytes of UTF-8.
  let title: String
  /// `printer.local`
  let host: String
  /// `_http._tcp`
  let service: String
  let port: UInt16
  let addresses: [Address]

  /// - Parameters:
  ///   - title: cut to the length of a label.
  ///   - host: a name under `local`.
  ///   - isSecure: whether the port uses TLS.
  init(title: String, host: String, isSecure: Bool, port: UInt16, addresses: [Address]) {
    self.title = title.prefix(bytes: Self.labelLimit)
    self.host = host
    service = isSecure ? "_https._tcp" : "_http._tcp"
    self.port = port
    self.addresses = addresses
  }

  /// Returns the same entries under a title that no other device of this proxy has.
  func titled(apartFor name: DeviceName) -> Announcement {
    Announcement(
      title: title.prefix(bytes: Self.labelLimit - name.text.utf8.count - 3) + " (\(name))", host: host,
      isSecure: service == "_https._tcp", port: port, addresses: addresses)
  }
}

extension String {
  /// Returns as many whole characters as fit.
  fileprivate func prefix(bytes limit: Int) -> String {
    var kept = Substring(self)
    while kept.utf8.count > max(limit, 0) { kept.removeLast() }
    return String(kept)
  }
}
