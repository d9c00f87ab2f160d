import Byway
import BywayLibC
import BywayPrimitives
import NIOCore

/// A socket that already listens, because the parent of this process opened it.
struct HeldSocket: Sendable, Hashable {
  enum Place: Sendable, Hashable {
    /// The path; `nil` for an abstract socket.
    case unix(path: String?)
    case internet(SocketAddress)
    /// A family that no link supports.
    case other
  }

  let descriptor: CInt
  /// The name; `nil` if the socket is known only by its number.
  let name: String?
  let place: Place

  /// Takes over a descriptor, and sets close-on-exec for it.
  /// - Returns: `nil` if it is not a listening stream socket.
  init?(_ descriptor: CInt, name: String?) {
    guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
      Self.option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    else { return nil }
    self.descriptor = descriptor
    self.name = name
    place = Self.place(of: descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Duplicates the descriptor. The socket keeps listening after the copy is closed.
  func duplicated() throws(SystemError) -> CInt {
    try SystemError.check(fcntl(descriptor, F_DUPFD_CLOEXEC, 3))
  }

  private static func option(_ name: CInt, of descriptor: CInt) -> CInt? {
    var value: CInt = 0
    var size = socklen_t(MemoryLayout<CInt>.size)
    return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
  }

  private static func place(of descriptor: CInt) -> Place {
    var storage = sockaddr_storage()
    var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let result = withUnsafeMutablePointer(to: &storage) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    guard result == 0 else { return .other }
    return withUnsafeBytes(of: storage) { bytes in
      switch CInt(storage.ss_family) {
      case AF_UNIX:
        let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
        let name = bytes.prefix(Int(size)).dropFirst(start).prefix { $0 != 0 }
        return .unix(path: name.isEmpty ? nil : String(decoding: name, as: UTF8.self))
      case AF_INET: return .internet(SocketAddress(bytes.loadUnaligned(as: sockaddr_in.self)))
      case AF_INET6: return .internet(SocketAddress(bytes.loadUnaligned(as: sockaddr_in6.self)))
      default: return .other
      }
    }
  }
}

extension HeldSocket.Place {
  /// Returns the address for clients; `nil` if there is none.
  func address() -> LinkAddress? {
    switch self {
    case .unix(let path?) where path.visible == path && !path.contains("?"): try? LinkAddress("unix:\(path)")
    case .internet(.v4(let address)):
      SocketAddress.v4(address).ipAddress.flatMap {
        try? LinkAddress("tcp://\($0):\(SocketAddress.v4(address).port ?? 0)")
      }
    case .internet(.v6(let address)):
      SocketAddress.v6(address).ipAddress.flatMap {
        try? LinkAddress("tcp://[\($0)]:\(SocketAddress.v6(address).port ?? 0)")
      }
    case .unix, .internet, .other: nil
    }
  }
}
