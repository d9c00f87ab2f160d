import BywayLibC
import NIOCore
import Synchronization

/// The original status flags of a descriptor.
///
/// They belong to the open file, not to the descriptor: a remaining O_NONBLOCK would break the shell or parent that shares it.
/// Safe on any thread.
final class BlockingMode: Sendable {
  private let flags: CInt
  private let copy: Mutex<CInt?>

  init(of descriptor: CInt) throws {
    flags = fcntl(descriptor, F_GETFL)
    copy = Mutex(try duplicate(descriptor))
  }

  /// Restores the flags. Only the first call has an effect.
  func restore() {
    guard let copy = copy.withLock({ $0.take() }) else { return }
    _ = fcntl(copy, F_SETFL, flags)
    close(copy)
  }

  deinit { restore() }
}

/// Restores the mode of each direction when that direction has ended.
final class BlockingModeHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  struct Restorers: Sendable {
    let input: BlockingMode
    /// The output's mode; `nil` if both directions are one socket.
    let output: BlockingMode?
    /// The settings of the terminal; `nil` if the input is none.
    var terminal: TerminalMode?

    func restore() {
      terminal?.restore()
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

  /// Restore the mode before the close, so that code that waits for the close finds it restored. Nothing is read or written in
  /// between.
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if mode == .all { restorers.restore() }
    context.close(mode: mode, promise: promise)
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    // The peer does not see the end while a copy of the output is open.
    if case ChannelEvent.outputClosed? = event as? ChannelEvent { restorers.output?.restore() }
    context.fireUserInboundEventTriggered(event)
  }
}
