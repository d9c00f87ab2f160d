import Byway
import Glibc
import NIOCore
import NIOPosix

/// Links over Linux's abstract sockets, which have a name and no file: `abstract:NAME`.
///
/// NIO pads the name with zeros, which count (unix(7)): another program must do the same.
struct AbstractTransport: Transport {
  let scheme = "abstract"
  let options: [LinkOption] = []

  init() {}

  func check(_ address: LinkAddress) throws {
    _ = try socketAddress(address)
  }

  func connect(to address: LinkAddress, context: LinkContext) async throws -> any Channel {
    let name = try socketAddress(address)
    do {
      return try await ClientBootstrap(group: context.group)
        .connectTimeout(context.deadline - .now())
        .channelInitializer { $0.prepareForHandover() }
        .connect(to: name).get()
    } catch {
      throw BywayError(
        .linkUnavailable, "Nothing listens on \(address): start the gateway first.", processing: .none, cause: error)
    }
  }

  func listen(on address: LinkAddress, context: LinkContext) async throws -> any Listener {
    let name = try socketAddress(address)
    let queue = ChannelQueue()
    do {
      let server = try await ServerBootstrap(group: context.group)
        .serverChannelInitializer { $0.acceptWithin(context, on: address) }
        .childChannelInitializer { $0.prepareForHandover(to: queue) }
        .bind(to: name).get()
      server.closeFuture.whenComplete { _ in queue.end() }
      return QueueListener(address: address, queue: queue) { try? await server.close() }
    } catch {
      throw BywayError(
        .linkUnavailable, "\(address) is already in use: choose another name.", processing: .none, cause: error)
    }
  }

  private func socketAddress(_ address: LinkAddress) throws -> SocketAddress {
    let name = Array(address.path.utf8)
    guard (1...100).contains(name.count) else {
      throw BywayError(.invalidAddress, "\(address) has no name of up to 100 bytes: write abstract:NAME.")
    }
    var system = sockaddr_un()
    system.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &system.sun_path) { $0[1...].copyBytes(from: name) }
    return SocketAddress(system)
  }
}
