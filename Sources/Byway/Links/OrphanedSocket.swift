import BywayLibC
import NIOCore

/// Sockets of programs on this machine that were closed while TCP still keeps the connection.
///
/// TCP shows the same for a client that only ends its direction and for one that has gone. It shows nothing of an end behind unread bytes.
/// The kernel knows more about a client on the same machine: sock_diag(7).
enum OrphanedSocket {
  // The kernel's headers define these, but Swift does not import them.
  private static let protocolNumber: CInt = 4
  private static let queryKind: UInt16 = 20
  private static let isRequest: UInt16 = 1
  private static let headerSize = 16
  /// `struct inet_diag_req_v2` behind a `struct nlmsghdr`.
  private static let querySize = headerSize + 56
  /// The offsets of the state and of the socket's inode number in a `struct inet_diag_msg` behind a `struct nlmsghdr`.
  private static let stateOffset = headerSize + 1
  private static let inodeOffset = headerSize + 68
  /// FIN-WAIT-1, FIN-WAIT-2, TIME-WAIT, LAST-ACK and CLOSING (tcp(7)).
  private static let endingStates: Set<UInt8> = [4, 5, 6, 9, 11]

  /// Returns whether the other end of a connection is a socket of this machine that no program holds any more; `false` if that is unknown.
  static func isOtherEnd(of channel: any Channel) -> Bool {
    guard let own = channel.localAddress, let other = channel.remoteAddress, let query = query(from: other, to: own)
    else { return false }
    let kind = CInt(SOCK_RAW.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(AF_NETLINK, kind, protocolNumber)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard send(descriptor, query, query.count, 0) == query.count else { return false }
    // The kernel answers before `send` returns.
    var answer = [UInt8](repeating: 0, count: 512)
    let count = recv(descriptor, &answer, answer.count, 0)
    return count > 0 && isAbandoned(answer.prefix(count))
  }

  /// - Parameter answer: the kernel's answer.
  static func isAbandoned(_ answer: ArraySlice<UInt8>) -> Bool {
    answer.withUnsafeBytes { bytes in
      guard bytes.count >= inodeOffset + 4, bytes.loadUnaligned(fromByteOffset: 4, as: UInt16.self) == queryKind else {
        return false
      }
      return endingStates.contains(bytes[stateOffset])
        && bytes.loadUnaligned(fromByteOffset: inodeOffset, as: UInt32.self) == 0
    }
  }

  /// - Returns: `nil` if these are not TCP addresses.
  private static func query(from source: SocketAddress, to destination: SocketAddress) -> [UInt8]? {
    guard let from = endpoint(source), let to = endpoint(destination), from.isV6 == to.isV6 else { return nil }
    var query: [UInt8] = []
    func append(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value) { query += $0 } }
    append(UInt32(querySize))
    append(queryKind)
    append(isRequest)
    append(UInt64(0))
    append(UInt8(from.isV6 ? AF_INET6 : AF_INET))
    append(UInt8(IPPROTO_TCP))
    append(UInt16(0))
    append(UInt32.max)
    append(from.port.bigEndian)
    append(to.port.bigEndian)
    query += from.address + to.address
    append(UInt32(0))
    // No cookie: matches any socket with those addresses.
    append(UInt64.max)
    return query
  }

  /// Returns an address in 16 bytes. An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) counts as IPv4.
  private static func endpoint(_ address: SocketAddress) -> (isV6: Bool, address: [UInt8], port: UInt16)? {
    guard let port = address.port.flatMap({ UInt16(exactly: $0) }) else { return nil }
    let padding = [UInt8](repeating: 0, count: 12)
    switch address {
    case .v4(let address):
      return (false, withUnsafeBytes(of: address.address.sin_addr) { Array($0) } + padding, port)
    case .v6(let address):
      let bytes = withUnsafeBytes(of: address.address.sin6_addr) { Array($0) }
      let mapped = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]
      guard bytes.starts(with: mapped) else { return (true, bytes, port) }
      return (false, bytes.suffix(4) + padding, port)
    case .unixDomainSocket: return nil
    }
  }
}
