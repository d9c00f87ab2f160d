import Glibc
import NIOCore
import NIOPosix
import Synchronization
import TestTools

/// A relay between a client and a server: a link that can be cut.
package final class CuttableRelay: Sendable {
  package enum Cut: CaseIterable, Sendable {
    /// Open connections end, and new ones are refused.
    case refused
    /// Connections open and accept bytes, but forward nothing.
    case silent
  }

  private struct State {
    var server: (any Channel)?
    var channels: [any Channel] = []
    var isSilent = false
  }

  private let place: SocketAddress
  private let target: SocketAddress
  private let limit: Int
  private let state = Mutex(State())

  /// - Parameters:
  ///   - path: the relay's socket.
  ///   - target: the server's socket.
  package convenience init(at path: String, to target: String) async throws {
    try await self.init(at: SocketAddress(unixDomainSocketPath: path), to: SocketAddress(unixDomainSocketPath: target))
  }

  /// Starts a relay on a loopback port that ends a connection after a number of the server's bytes.
  package convenience init(to port: Int, after limit: Int) async throws {
    try await self.init(
      at: SocketAddress(ipAddress: "127.0.0.1", port: 0), to: SocketAddress(ipAddress: "127.0.0.1", port: port),
      after: limit)
  }

  private init(at place: SocketAddress, to target: SocketAddress, after limit: Int = .max) async throws {
    (self.place, self.target, self.limit) = (place, target, limit)
    try await listen()
    _ = Ending { await self.stop() }
  }

  /// The port of a relay on TCP.
  package var port: Int { state.withLock { $0.server?.localAddress?.port } ?? 0 }

  private func listen() async throws {
    if let path = place.pathname { unlink(path) }
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { [self] near in
        ClientBootstrap(group: near.eventLoop)
          .channelInitializer { [limit] far in
            far.eventLoop.makeCompletedFuture {
              try far.pipeline.syncOperations.addHandler(Forward(to: near, self, upTo: limit))
            }
          }
          .connect(to: target)
          .flatMap { far in
            self.state.withLock { $0.channels += [near, far] }
            return near.eventLoop.makeCompletedFuture {
              try near.pipeline.syncOperations.addHandler(Forward(to: far, self, upTo: .max))
              near.setOption(.autoRead, value: true).whenComplete { _ in }
            }
          }
      }
      .bind(to: place).get()
    state.withLock { $0.server = server }
  }

  fileprivate var isSilent: Bool { state.withLock(\.isSilent) }

  package func cut(_ cut: Cut) async {
    switch cut {
    case .silent: state.withLock { $0.isSilent = true }
    case .refused:
      try? await state.withLock { $0.server.take() }?.close()
      await closeAll()
    }
  }

  package func repair() async throws {
    // A connection that has lost bytes is not usable any more.
    await closeAll()
    state.withLock { $0.isSilent = false }
    if state.withLock({ $0.server == nil }) { try await listen() }
  }

  package func stop() async {
    try? await state.withLock { $0.server.take() }?.close()
    await closeAll()
  }

  private func closeAll() async {
    let channels = state.withLock { state in
      defer { state.channels = [] }
      return state.channels
    }
    for channel in channels { try? await channel.close() }
  }

  private final class Forward: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let relay: CuttableRelay
    private var rest: Int

    init(to other: any Channel, _ relay: CuttableRelay, upTo limit: Int) {
      self.other = other
      self.relay = relay
      rest = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if relay.isSilent { return }
      var bytes = unwrapInboundIn(data)
      let passed = bytes.readSlice(length: min(bytes.readableBytes, rest)) ?? ByteBuffer()
      rest -= passed.readableBytes
      let isLast = rest == 0
      let (near, far) = (context.channel, other)
      other.writeAndFlush(passed).whenComplete { _ in
        guard isLast else { return }
        near.close(promise: nil)
        far.close(promise: nil)
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      if !relay.isSilent { other.close(promise: nil) }
    }
  }
}
