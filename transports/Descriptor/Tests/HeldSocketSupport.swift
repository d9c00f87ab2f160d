import Byway
import Glibc
import NIOCore
import TCPTransport
import TestTools
import TransportTestSupport
import UnixTransport

@testable import DescriptorTransport

/// Opens sockets as a service manager does, before a service uses them.
enum Manager {
  static func openUnix(_ path: String) throws -> CInt {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    return try open(AF_UNIX, &address)
  }

  /// Opens a socket on a port that the system chooses.
  static func openTCP(_ host: UInt32 = 0x7F00_0001) throws -> CInt {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = host.bigEndian
    return try open(AF_INET, &address)
  }

  private static func open<Address>(_ family: CInt, _ address: inout Address) throws -> CInt {
    let descriptor = socket(family, CInt(SOCK_STREAM.rawValue), 0)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
      }
    }
    guard result == 0, listen(descriptor, 64) == 0 else { throw FixtureError("no socket: \(errno)") }
    return descriptor
  }
}

extension HeldSockets {
  convenience init(_ sockets: (CInt, String?)...) {
    self.init(sockets.compactMap { HeldSocket($0.0, name: $0.1) })
  }
}

/// A transport that listens on a socket opened for it, whatever the address, and dials it like any client.
struct ActivatedTransport: Transport {
  let scheme = "fd"
  let options: [LinkOption] = []
  let folder: TemporaryFolder

  func check(_ address: LinkAddress) throws {}

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    try await UnixTransport().connect(to: address, context: context)
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    unlink(folder["socket"])
    let descriptor = try Manager.openUnix(folder["socket"])
    let listener = try await DescriptorTransport(held: HeldSockets((descriptor, "link"))).listen(
      on: LinkAddress("fd:link"), context: context)
    return QueueOf(listener: listener, descriptor: descriptor)
  }

  /// A listener that also closes the manager's descriptor, like a manager that stops the socket unit.
  private struct QueueOf: Listener {
    let listener: any Listener
    let descriptor: CInt

    var address: LinkAddress { listener.address }
    var channels: AsyncThrowingStream<any Channel, any Error> { listener.channels }

    func close() async {
      await listener.close()
      shutdown(descriptor, CInt(SHUT_RDWR))
      Glibc.close(descriptor)
    }
  }
}
