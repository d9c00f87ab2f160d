import NIOCore
import NIOPosix
import Synchronization

/// A relay between a client and a server on Unix sockets: a link that can be cut.
final class CuttableRelay: Sendable {
  enum Cut: CaseIterable, Sendable {
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

  private let path: String
  private let target: String
  private let state = Mutex(State())

  /// - Parameter target: the server's socket.
  init(at path: String, to target: String) async throws {
    self.path = path
    self.target = target
    try await listen()
  }

  private func listen() async throws {
    let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { [self] near in
        ClientBootstrap(group: near.eventLoop)
          .channelInitializer { far in
            far.eventLoop.makeCompletedFuture { try far.pipeline.syncOperations.addHandler(Forward(to: near, self)) }
          }
          .connect(unixDomainSocketPath: target)
          .flatMap { far in
            self.state.withLock { $0.channels += [near, far] }
            return near.eventLoop.makeCompletedFuture {
              try near.pipeline.syncOperations.addHandler(Forward(to: far, self))
              near.setOption(.autoRead, value: true).whenComplete { _ in }
            }
          }
      }
      .bind(unixDomainSocketPath: path, cleanupExistingSocketFile: true).get()
    state.withLock { $0.server = server }
  }

  fileprivate var isSilent: Bool { state.withLock(\.isSilent) }

  func cut(_ cut: Cut) async {
    switch cut {
    case .silent: state.withLock { $0.isSilent = true }
    case .refused:
      try? await state.withLock { $0.server.take() }?.close()
      await closeAll()
    }
  }

  func repair() async throws {
    // A connection that has lost bytes is not usable any more.
    await closeAll()
    state.withLock { $0.isSilent = false }
    if state.withLock({ $0.server == nil }) { try await listen() }
  }

  func stop() async {
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

    init(to other: any Channel, _ relay: CuttableRelay) {
      self.other = other
      self.relay = relay
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      if !relay.isSilent { other.writeAndFlush(unwrapInboundIn(data), promise: nil) }
    }

    func channelInactive(context: ChannelHandlerContext) {
      if !relay.isSilent { other.close(promise: nil) }
    }
  }
}
