import NIOCore

/// Completes the close of a medium's channel when the medium is closed too, so that code that waits for the close can open it again.
final class MediumHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  /// The time that bytes which the medium does not take may delay the close.
  private static let patience = TimeAmount.seconds(2)

  private let released: EventLoopFuture<Void>
  private var isClosing = false

  init(released: EventLoopFuture<Void>) {
    self.released = released
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else {
      // A line has no half-close.
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    context.channel.closeFuture.cascade(to: promise)
    guard !isClosing else { return }
    isClosing = true
    // Ends the output behind the last bytes. The pump sends them, closes the medium, and then its socket.
    context.close(mode: .output, promise: nil)
    let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience) { context.close(promise: nil) }
    released.assumeIsolated().whenComplete { _ in
      timeout.cancel()
      context.close(promise: nil)
    }
  }
}
