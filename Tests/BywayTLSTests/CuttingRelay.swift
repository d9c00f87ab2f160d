import NIOCore
import NIOPosix

/// A relay between a client and a server that cuts both directions after a number of the server's bytes.
struct CuttingRelay {
  let port: Int
  private let server: any Channel

  init(to target: Int, after limit: Int) async throws {
    server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelOption(.autoRead, value: false)
      .childChannelInitializer { near in
        ClientBootstrap(group: near.eventLoop)
          .channelInitializer { far in
            far.eventLoop.makeCompletedFuture {
              try far.pipeline.syncOperations.addHandler(Forward(to: near, upTo: limit))
            }
          }
          .connect(host: "127.0.0.1", port: target)
          .flatMap { far in
            near.eventLoop.makeCompletedFuture {
              try near.pipeline.syncOperations.addHandler(Forward(to: far, upTo: .max))
              near.setOption(.autoRead, value: true).whenComplete { _ in }
            }
          }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    port = server.localAddress?.port ?? 0
  }

  func stop() async {
    try? await server.close()
  }

  private final class Forward: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private var rest: Int

    init(to other: any Channel, upTo limit: Int) {
      self.other = other
      rest = limit
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
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
      other.close(promise: nil)
    }
  }
}
