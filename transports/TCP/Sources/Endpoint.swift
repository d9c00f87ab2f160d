import Byway
import NIOCore

/// The host and port of an address without other parts.
struct Endpoint {
  let host: String
  let port: Int

  init(_ address: LinkAddress) throws {
    let hostPort = try address.hostPort()
    guard hostPort.user == nil, address.path.isEmpty || address.path == "/" else {
      throw BywayError(
        .invalidAddress, "\(address) has more than a host and a port: write \(address.scheme)://HOST:PORT.")
    }
    guard let port = hostPort.port else {
      throw BywayError(.invalidAddress, "\(address) has no port: write \(address.scheme)://HOST:PORT.")
    }
    host = hostPort.host
    self.port = port
  }

  /// Whether the host is `localhost`, or a name below it. These are not looked up: a resolver with another answer must not lead
  /// off this machine, and many resolvers know only `localhost` (RFC 6761 §6.3).
  var isLoopbackName: Bool {
    let host = host.lowercased()
    return host == "localhost" || host.hasSuffix(".localhost")
  }

  /// The loopback addresses of the host.
  var loopbackAddresses: [SocketAddress] {
    let candidates = isLoopbackName ? ["127.0.0.1", "::1"] : [host]
    return candidates.compactMap { try? SocketAddress(ipAddress: $0, port: port) }.filter(\.isLoopback)
  }
}

/// An endpoint on this machine, or beyond it for a listener whose user has allowed that.
struct LoopbackEndpoint {
  /// The addresses; at least one.
  let addresses: [SocketAddress]
  let port: Int

  /// - Parameter mayBeOpen: whether `insecure=yes` is accepted.
  init(_ address: LinkAddress, mayBeOpen: Bool = false) throws {
    let endpoint = try Endpoint(address)
    port = endpoint.port
    let isInsecure = try address.isInsecure()
    let loopback = endpoint.loopbackAddresses
    if loopback.isEmpty, mayBeOpen, isInsecure {
      guard let open = try? SocketAddress(ipAddress: endpoint.host, port: endpoint.port) else {
        throw BywayError(
          .invalidAddress, "\(endpoint.host) is not an IP address: write one of this machine, or 0.0.0.0.")
      }
      addresses = [open]
      return
    }
    addresses = loopback
    guard !addresses.isEmpty else {
      throw BywayError(
        .invalidAddress,
        "\(address) is not on this machine, and plain TCP protects nothing: use tls://\(endpoint.host):\(endpoint.port)"
          + "?ca=…&cert=…&key=…, or 127.0.0.1, [::1] or localhost.")
    }
  }
}
