import NIOCore
import NIOPosix

/// A TCP server that sends a text to each client immediately, and nothing else.
package struct WordyServer: Sendable {
  private let channel: any Channel

  package init(_ words: String) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Speaker(words)) }
      }
      .bind(host: "127.0.0.1", port: 0).get()
  }

  package var port: Int { channel.localAddress?.port ?? 0 }

  package func stop() async {
    try? await channel.close().get()
  }

  private final class Speaker: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let words: String

    init(_ words: String) { self.words = words }

    func channelActive(context: ChannelHandlerContext) {
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: words)), promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
  }
}
