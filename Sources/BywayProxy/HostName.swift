import NIOCore

/// A host as it stands in an authority, in the one spelling that can be compared.
struct HostName: Sendable, Hashable {
  private let text: String
  /// `localhost` (RFC 6761 §6.3), 127.0.0.0/8 or ::1: always this machine, whatever a name server says.
  let isLoopback: Bool

  /// - Parameter host: without brackets.
  init(_ host: String) {
    var host = host.lowercased()
    if host.count > 1, host.hasSuffix(".") { host.removeLast() }
    guard let address = try? SocketAddress(ipAddress: host, port: 0) else {
      text = host
      isLoopback = host == "localhost"
      return
    }
    text = address.ipAddress ?? host
    isLoopback =
      switch address {
      case .v4: text.hasPrefix("127.")
      case .v6: text == "::1"
      case .unixDomainSocket: false
      }
  }
}
