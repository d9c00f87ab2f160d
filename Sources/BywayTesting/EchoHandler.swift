internal import NIOCore

/// Sends back what it gets, no faster than it is taken, and ends when its input ends.
final class EchoHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var isPaused = false

  func handlerAdded(context: ChannelHandlerContext) { context.read() }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.write(data, promise: nil) }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
    if context.channel.isWritable {
      context.read()
    } else {
      isPaused = true
    }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard isPaused, context.channel.isWritable else { return }
    isPaused = false
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else { return }
    // After both directions have ended NIO drops what it has not written yet: wait for the last byte.
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      context.close(mode: .output, promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
