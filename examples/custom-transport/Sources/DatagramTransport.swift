import Byway
import Glibc
import NIOCore

/// Links over UDP, `udp://ADDRESS:7000?from=7001`: the address of the other end, the listening end's port, and the dialing end's.
///
/// UDP loses, repeats and reorders datagrams. The line layer repairs that.
struct DatagramTransport: Transport {
  let scheme = "udp"
  let forms = [AddressForm("udp://ADDRESS:PORT?from=PORT", "datagrams to and from an IPv4 address, at both ends")]
  let options = [LinkOption("from", "the port of the end that dials")]

  func check(_ address: LinkAddress) throws {
    _ = try Place(address, .dial)
  }

  func line(for address: LinkAddress) throws -> LineProperties? { LineProperties(bytesPerSecond: nil) }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await Place(address, .dial).medium().open(on: context.group, logger: context.logger)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let place = try Place(address, .listen)
    return try await DeviceWatch(device: address.text, logger: context.logger) { queue in
      try await place.medium().open(on: context.group, to: queue, logger: context.logger)
    }.listen(on: address)
  }
}

/// The validated address of a link over UDP.
private struct Place {
  /// The most bytes of a datagram that every network carries in one packet.
  private static let limit = 1200

  private let peer: SocketAddress
  private let own: SocketAddress

  init(_ address: LinkAddress, _ opening: Link.Opening) throws {
    let host = try address.hostPort()
    let from = address[option: "from"].flatMap { Int($0) }
    let ports = opening == .dial ? (peer: host.port, own: from) : (peer: from, own: host.port)
    guard let peerPort = ports.peer, let ownPort = ports.own,
      [peerPort, ownPort].allSatisfy({ (1...65_535).contains($0) }),
      let peer = try? SocketAddress(ipAddress: host.host, port: peerPort), peer.protocol == .inet
    else {
      throw BywayError(
        .invalidAddress, "\(address) lacks an IPv4 address or a port: write udp://127.0.0.1:7000?from=7001.")
    }
    self.peer = peer
    own = try SocketAddress(ipAddress: "0.0.0.0", port: ownPort)
  }

  /// Opens a socket that sends to the other end, and receives from it only.
  func medium() throws -> LineMedium {
    let descriptor = socket(AF_INET, CInt(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0,
      own.withSockAddr({ bind(descriptor, $0, socklen_t($1)) }) == 0,
      peer.withSockAddr({ Glibc.connect(descriptor, $0, socklen_t($1)) }) == 0
    else {
      let reason = String(cString: strerror(errno))
      if descriptor >= 0 { close(descriptor) }
      throw BywayError(
        .linkUnavailable, "No datagrams from \(own) to \(peer): \(reason). Choose another port.", processing: .none)
    }
    // The other end may start later (ECONNREFUSED).
    return LineMedium(
      descriptor, .messages(limit: Self.limit, loss: [ECONNREFUSED, EMSGSIZE, ENOBUFS]), name: "\(own)")
  }
}
