import NIOCore

/// Completes the close of a medium's channel when the medium is closed too, so that code that waits for the close can open it again.
final class MediumHandler: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer

  /// The device at the other end, if the medium tells one from another.
  let peer: String?
  private let released: EventLoopFuture<Void>
  private let patience: TimeAmount
  private let thread: MediumThread?
  private var isClosing = false

  /// - Parameters:
  ///   - peer: the device at the other end, if the medium tells one from another.
  ///   - patience: the time that a medium which is not released may delay the close.
  ///   - thread: the medium's thread, if it may have to be interrupted.
  init(peer: String?, released: EventLoopFuture<Void>, patience: TimeAmount, thread: MediumThread?) {
    self.thread = thread
    self.peer = peer
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
    let timeout = context.eventLoop.assumeIsolated().scheduleTask(in: patience) {
      context.close(promise: nil)
      self.thread?.interruptUntilOver(on: context.eventLoop)
    }
    released.assumeIsolated().whenComplete { _ in
      timeout.cancel()
      context.close(promise: nil)
    }
  }
}

extension Channel {
  /// The device at the other end of a line, if its medium tells one from another. On the channel's event loop.
  var linePeer: String? { try? pipeline.syncOperations.handler(type: MediumHandler.self).peer }
}
