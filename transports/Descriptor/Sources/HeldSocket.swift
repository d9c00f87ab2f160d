import Byway
import Glibc
import NIOCore
import Primitives

/// A socket that listens already, because who started this process has opened it.
struct HeldSocket: Sendable, Hashable {
  enum Place: Sendable, Hashable {
    /// `nil` for an abstract one.
    case unix(path: String?)
    case internet(SocketAddress)
    /// A family that no link goes over.
    case other
  }

  let descriptor: CInt
  /// `nil` where it is known by its number only.
  let name: String?
  let place: Place

  /// Closed on exec from now on.
  /// - Returns: `nil` where no stream socket listens there.
  init?(_ descriptor: CInt, name: String?) {
    guard Self.option(SO_ACCEPTCONN, of: descriptor) == 1,
      Self.option(SO_TYPE, of: descriptor) == CInt(SOCK_STREAM.rawValue)
    else { return nil }
    self.descriptor = descriptor
    self.name = name
    place = Self.place(of: descriptor)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
  }

  /// Another descriptor of the same socket: when it is closed, the socket goes on to listen.
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
  /// Where clients connect; `nil` where no address tells.
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
