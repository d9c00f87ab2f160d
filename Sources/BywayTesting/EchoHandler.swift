package import NIOCore

/// Sends its input back, no faster than it is taken, and ends when its input ends.
package final class EchoHandler: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundOut = ByteBuffer

  private var isPaused = false

  package init() {}

  package func handlerAdded(context: ChannelHandlerContext) { context.read() }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) { context.write(data, promise: nil) }

  package func channelReadComplete(context: ChannelHandlerContext) {
    context.flush()
    if context.channel.isWritable {
      context.read()
    } else {
      isPaused = true
    }
  }

  package func channelWritabilityChanged(context: ChannelHandlerContext) {
    guard isPaused, context.channel.isWritable else { return }
    isPaused = false
    context.read()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case ChannelEvent.inputClosed? = event as? ChannelEvent else { return }
    // After both directions have ended NIO drops what it has not written yet: wait for the last byte.
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).assumeIsolated().whenComplete { _ in
      context.close(mode: .output, promise: nil)
    }
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
