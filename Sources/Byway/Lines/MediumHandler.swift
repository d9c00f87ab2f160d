import NIOCore

/// Completes the close of a medium's channel when the medium is closed too, so that code that waits for the close can open it again.
final class MediumHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  private let released: EventLoopFuture<Void>
  private let patience: TimeAmount
  private var isClosing = false

  /// - Parameter patience: the time that a medium which is not released may delay the close.
  init(released: EventLoopFuture<Void>, patience: TimeAmount) {
    self.released = released
    self.patience = patience
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
    let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
    released.assumeIsolated().whenComplete { _ in
      timeout.cancel()
      context.close(promise: nil)
    }
  }
}
