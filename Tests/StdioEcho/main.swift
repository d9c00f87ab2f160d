// The peer in tests of stdio: echoes its standard input. The first argument may select another behavior.
import Byway
import Logging
import NIOCore
import NIOPosix
import ProcessTransport

private final class Echo: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.write(data, promise: nil) }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
    if context.channel.isWritable { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else { return }
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      context.close(promise: nil)
    }
  }
}

let context = LinkContext(
  group: MultiThreadedEventLoopGroup.singleton, logger: Logger(label: "echo"), deadline: .now() + .seconds(5))
let transport = StdioTransport()
let listener = try await transport.listen(on: LinkAddress("stdio:"), context: context)
print("a stray line, which must not reach the link")
for try await channel in listener.channels {
  try await channel.eventLoop.submit {
    try channel.pipeline.syncOperations.addHandler(Echo())
    channel.read()
  }.get()
  try await channel.closeFuture.get()
}
