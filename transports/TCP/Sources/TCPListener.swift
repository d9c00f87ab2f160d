import Byway
import NIOCore
import NIOPosix

/// The common parts of listening for TCP and TLS.
enum TCPListener {
  /// The listen backlog, which the system may limit further. A whole fleet may connect at one moment; a client that finds no
  /// place tries again after a second.
  private static let mostWaiting: CInt = 4096

  static func listen(
    on address: LinkAddress, at endpoint: SocketAddress, queue: ChannelQueue, context: LinkContext,
    reread: @escaping @Sendable () throws -> @Sendable () -> Void = { {} },
    initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
  ) async throws -> any Listener {
    let server: any Channel
    do {
      let bootstrap = TCPKeepAlive.options.reduce(ServerBootstrap(group: context.group)) {
        $0.childChannelOption($1.option, value: $1.value)
      }
      server =
        try await bootstrap
        .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        .serverChannelOption(.backlog, value: mostWaiting)
        .serverChannelInitializer { $0.acceptWithin(context, on: address) }
        .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
        .childChannelInitializer(initializer)
        .bind(to: endpoint).get()
    } catch {
      throw TCPFailure.listening(on: address, error)
    }
    server.closeFuture.whenComplete { _ in queue.end() }
    let bound = try server.localAddress?.port.map(address.replacingPort) ?? address
    return QueueListener(address: bound, queue: queue, keepsArrived: true, reread: reread) {
      await server.stopAccepting(on: context.group)
    }
  }
}

extension LinkAddress {
  /// Returns the same address, with the port that the system chose.
  fileprivate func replacingPort(_ port: Int) throws -> LinkAddress {
    var place = try hostPort()
    place.port = port
    let query = text.firstIndex(of: "?").map { text[$0...] } ?? ""
    return try LinkAddress("\(scheme)://\(place)\(query)")
  }
}
