import Byway
package import NIOCore

/// A handler that passes the bytes and the end of a channel on to another.
package final class PassingHandler: ChannelInboundHandler {
  package typealias InboundIn = ByteBuffer

  private let other: any Channel

  package init(to other: any Channel) {
    self.other = other
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    other.writeAndFlush(unwrapInboundIn(data), promise: nil)
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { other.close(mode: .output, promise: nil) }
  }

  package func channelInactive(context: ChannelHandlerContext) {
    other.closeOnceWritten(within: .seconds(10))
  }
}
