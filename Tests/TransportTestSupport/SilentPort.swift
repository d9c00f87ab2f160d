import Glibc

/// A TCP port on which connection attempts neither succeed nor fail: its backlog is full.
package final class SilentPort: Sendable {
  package let port: UInt16
  private let sockets: [CInt]

  package init() throws {
    let listener = try LoopbackSocket.bound()
    listen(listener.socket, 0)
    port = listener.port
    sockets = [listener.socket] + (0..<4).map { _ in LoopbackSocket.connect(to: listener.port) }
  }

  deinit {
    for socket in sockets { close(socket) }
  }
}

/// A TCP port without a listener, reserved so that no other process can bind it.
package final class UnusedPort: Sendable {
  package let port: UInt16
  private let socket: CInt

  package init() throws {
    (socket, port) = try LoopbackSocket.bound()
  }

  deinit {
    close(socket)
  }
}

private enum LoopbackSocket {
  static func bound() throws -> (socket: CInt, port: UInt16) {
    let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: 0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, size) == 0 ? getsockname(socket, $0, &size) : -1
      }
    }
    guard socket >= 0, result == 0 else { throw FixtureError("cannot bind a port") }
    return (socket, UInt16(bigEndian: address.sin_port))
  }

  static func connect(to port: UInt16) -> CInt {
    let socket = Glibc.socket(AF_INET, CInt(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = loopback(port: port)
    _ = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return socket
  }

  private static func loopback(port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
