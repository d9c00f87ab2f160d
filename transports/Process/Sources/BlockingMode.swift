import Glibc
import NIOCore
import Synchronization

/// The status flags that a descriptor had when it was taken.
///
/// They belong to the open file, not to the descriptor: O_NONBLOCK left behind would break the shell or the parent
/// that shares it. Safe on any thread.
final class BlockingMode: Sendable {
  private let flags: CInt
  private let copy: Mutex<CInt?>

  init(of descriptor: CInt) throws {
    flags = fcntl(descriptor, F_GETFL)
    copy = Mutex(try duplicate(descriptor))
  }

  /// Only the first call counts.
  func restore() {
    guard let copy = copy.withLock({ $0.take() }) else { return }
    _ = fcntl(copy, F_SETFL, flags)
    close(copy)
  }

  deinit { restore() }
}

/// Restores each direction's mode as soon as the direction has ended.
final class BlockingModeHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  struct Restorers: Sendable {
    let input: BlockingMode
    /// `nil` where both directions are one socket.
    let output: BlockingMode?

    func restore() {
      input.restore()
      output?.restore()
    }
  }

  private let restorers: Restorers

  init(_ restorers: Restorers) {
    self.restorers = restorers
  }

  func handlerAdded(context: ChannelHandlerContext) {
    context.channel.closeFuture.whenComplete { [restorers] _ in restorers.restore() }
  }

  /// Before the close, so that whoever waits for it finds the mode restored; nothing is read or written in between.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if mode == .all { restorers.restore() }
    context.close(mode: mode, promise: promise)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // As long as a copy of the output is open, the peer does not see its end.
    if case ChannelEvent.outputClosed? = event as? ChannelEvent { restorers.output?.restore() }
    context.fireUserInboundEventTriggered(event)
  }
}
