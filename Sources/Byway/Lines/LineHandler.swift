import NIOCore

/// Passes the events of a line's channel to its ``LineDriver``.
final class LineHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private let driver: LineDriver

  init(_ driver: LineDriver) {
    self.driver = driver
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    driver.received(unwrapInboundIn(data), on: context.channel)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // After this event: a failed write closes the channel at once, which NIO does not expect while it reports the line's end, as when a
    // cable is pulled.
    context.eventLoop.assumeIsolated().execute { [driver] in driver.pump() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // A line has no half-close: the end of its input means that it is unplugged.
    if let event = event as? ChannelEvent, event == .inputClosed { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    driver.failed(error, on: context.channel)
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    driver.detached(context.channel)
  }
}
