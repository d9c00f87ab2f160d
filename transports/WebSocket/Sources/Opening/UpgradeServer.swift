import Byway
import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// Answers the first request on an accepted connection. If it opens a WebSocket, the handler removes itself, and bytes that followed the
/// request go to the handlers behind it.
final class UpgradeServer: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case waiting
    case open
    case ended
  }

  private let session: HTTP1ServerSession
  private let decide: (RequestHead) -> UpgradeAnswer
  private let handlers: () -> [any ChannelHandler]
  private let limit: TimeAmount
  private let done: EventLoopPromise<Void>
  private var state = State.waiting
  private var timeout: Scheduled<Void>?

  /// - Parameters:
  ///   - limit: the time for the request.
  ///   - handlers: makes the handlers of the link.
  ///   - done: succeeds when the link is open, and fails if there will be none.
  init(
    on eventLoop: any EventLoop, within limit: TimeAmount, done: EventLoopPromise<Void>,
    decide: @escaping (RequestHead) -> UpgradeAnswer, handlers: @escaping () -> [any ChannelHandler]
  ) {
    session = HTTP1ServerSession(at: eventLoop.now)
    self.limit = limit
    self.done = done
    self.decide = decide
    self.handlers = handlers
  }

  func handlerAdded(context: ChannelHandlerContext) {
    guard context.channel.isActive else { return end(context) }
    timeout = context.eventLoop.assumeIsolated().scheduleTask(in: limit) { self.end(context) }
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch state {
    case .waiting:
      session.receive(unwrapInboundIn(data), at: context.eventLoop.now)
      pull(context)
    case .open: context.fireChannelRead(data)
    case .ended: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if state == .waiting { context.read() }
    context.fireChannelReadComplete()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed, state == .waiting { return end(context) }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if state == .open { context.fireErrorCaught(error) } else { end(context) }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timeout?.cancel()
    // The connection has ended, unless the link is open.
    done.fail(ChannelError.ioOnClosedChannel)
  }

  // MARK: Steps

  private func pull(_ context: ChannelHandlerContext) {
    while state != .ended, let event = session.nextEvent() {
      switch event {
      case .head(let head): answer(decide(head), context)
      case .content(let bytes): if state == .open { context.fireChannelRead(wrapInboundOut(bytes)) }
      case .refused(let failure): answer(.refuse(status: failure.status, fields: [], text: failure.message), context)
      case .closed: end(context)
      case .end, .drained: break
      }
    }
    guard state == .open else { return }
    done.succeed()
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }

  private func answer(_ answer: UpgradeAnswer, _ context: ChannelHandlerContext) {
    do {
      switch answer {
      case .accept(let fields):
        try session.respond(fields, isComplete: false, upgrade: "websocket", at: context.eventLoop.now)
        transmit(context)
        try context.pipeline.syncOperations.addHandlers(handlers(), position: .after(self))
        state = .open
      case .refuse(let status, let fields, let text):
        try refuse(status, fields, ByteBuffer(string: text + "\n"), context)
      }
    } catch {
      end(context)
    }
  }

  private func refuse(
    _ status: Int, _ fields: [(String, String)], _ text: ByteBuffer, _ context: ChannelHandlerContext
  ) throws {
    var head = FieldSection()
    head.append(.status, String(status))
    head.append(.contentType, "text/plain")
    head.append(.contentLength, String(text.readableBytes))
    for (name, value) in fields { head.append(name: name, value: value) }
    session.drain(at: context.eventLoop.now)
    try session.respond(head, isComplete: false, at: context.eventLoop.now)
    try session.write(text)
    try session.finish(trailers: nil, at: context.eventLoop.now)
    transmit(context)
    state = .ended
    context.channel.closeOnceWritten(within: limit)
  }

  private func transmit(_ context: ChannelHandlerContext) {
    while let bytes = session.nextTransmit(maximum: .max, at: context.eventLoop.now) {
      context.write(wrapOutboundOut(bytes), promise: nil)
    }
    context.flush()
  }

  private func end(_ context: ChannelHandlerContext) {
    guard state == .waiting else { return }
    state = .ended
    done.fail(ChannelError.ioOnClosedChannel)
    context.close(promise: nil)
  }
}
