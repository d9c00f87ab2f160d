import NIOCore

/// Distinguishes addresses from names.
enum HostAddress {
  static func isAddress(_ host: String) -> Bool {
    let bare = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    return (try? SocketAddress(ipAddress: bare, port: 0)) != nil
  }
}
