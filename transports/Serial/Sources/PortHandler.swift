import Byway
import NIOCore

/// Closes the channel when the line ends, and the port when the channel closes.
///
/// A line has no half-close: when its input ends, the device is gone.
final class PortHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  /// The time that a closing channel waits for bytes that are not sent yet.
  private static let patience = TimeAmount.seconds(1)
  private static let interval = TimeAmount.milliseconds(5)

  private let port: SerialPort
  private let format: LineFormat
  private var closing: EventLoopPromise<Void>?

  init(_ port: SerialPort, _ format: LineFormat) {
    self.port = port
    self.format = format
  }

  func handlerAdded(context: ChannelHandlerContext) {
    context.channel.closeFuture.whenComplete { [port] _ in port.release() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent {
      context.close(promise: nil)
    } else {
      context.fireUserInboundEventTriggered(event)
    }
  }

  func triggerUserOutboundEvent(context: ChannelHandlerContext, event: Any, promise: EventLoopPromise<Void>?) {
    guard let question = event as? LineInstruments.Question else {
      return context.triggerUserOutboundEvent(event, promise: promise)
    }
    question.answer.succeed(port.instruments)
    promise?.succeed()
  }

  func channelInactive(context: ChannelHandlerContext) {
    // This covers every kind of close: an event loop that shuts down does not run scheduled steps.
    closing?.succeed()
    context.fireChannelInactive()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else {
      promise?.fail(ChannelError.operationUnsupported)
      return
    }
    let isFirst = closing == nil
    let closing = self.closing ?? context.eventLoop.makePromise()
    closing.futureResult.cascade(to: promise)
    self.closing = closing
    if isFirst { drain(context, until: .now() + Self.patience) }
  }

  /// Waits for the last bytes to be sent. An immediate close would cut them off, and they may be a closing frame.
  private func drain(_ context: ChannelHandlerContext, until deadline: NIODeadline) {
    guard !port.isPseudoTerminal, context.channel.isActive else { return finish(context) }
    guard port.pendingOutput > 0, .now() < deadline else {
      // The hardware has its own queue of up to a few hundred bytes, which the driver does not count.
      let queued = TimeAmount.milliseconds(Int64(min(100, 128_000 / max(format.bytesPerSecond, 1))))
      return after(queued, context) { $0.finish($1) }
    }
    after(Self.interval, context) { $0.drain($1, until: deadline) }
  }

  private func finish(_ context: ChannelHandlerContext) {
    // Release the port before the channel closes, so that code that waits for the close can open the port again.
    port.release()
    context.close(promise: closing)
  }

  private func after(
    _ delay: TimeAmount, _ context: ChannelHandlerContext,
    _ step: @escaping @Sendable (PortHandler, ChannelHandlerContext) -> Void
  ) {
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    context.eventLoop.scheduleTask(in: delay) { step(bound.value.0, bound.value.1) }
  }
}
