import Byway
import BywayHTTP1Session
import BywayHTTPWire
import NIOCore

/// Sends one request that turns its connection into a tunnel, such as an upgrade or CONNECT, and removes itself once the tunnel is open.
///
/// Reads during that time. Bytes that follow the response go to the handlers behind it.
final class TunnelRequest: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  typealias OutboundOut = ByteBuffer

  /// The words for failures, and the check of a response that opens the tunnel.
  struct Terms {
    /// Checks the response, and returns the handlers of the tunnel.
    let opened: (ResponseHead) throws(BywayError) -> [any ChannelHandler]
    /// The error for another response.
    let refused: (FieldSection) -> BywayError
    /// The error for a peer that does not speak HTTP, or ends the connection.
    let failed: (HTTP1Failure?) -> BywayError
    let late: () -> BywayError
  }

  private enum State {
    case waiting
    case open
    case failed
  }

  private let request: FieldSection
  private let session: HTTP1ClientSession
  private let terms: Terms
  private let deadline: NIODeadline
  private let done: EventLoopPromise<Void>
  private var state = State.waiting
  private var timeout: Scheduled<Void>?

  private init(_ request: FieldSection, _ terms: Terms, by deadline: NIODeadline, on eventLoop: any EventLoop) {
    self.request = request
    self.terms = terms
    self.deadline = deadline
    var configuration = HTTP1ClientSession.Configuration()
    configuration.capitalizesFieldNames = true
    session = HTTP1ClientSession(configuration: configuration, at: eventLoop.now)
    done = eventLoop.makePromise()
  }

  /// Sends the request at the end of a channel's pipeline. On its event loop.
  /// - Returns: succeeds when the handlers of the tunnel are in place. After a failure the channel is closed.
  static func send(
    _ request: FieldSection, on channel: any Channel, by deadline: NIODeadline, _ terms: Terms
  ) -> EventLoopFuture<Void> {
    let handler = TunnelRequest(request, terms, by: deadline, on: channel.eventLoop)
    do {
      try channel.pipeline.syncOperations.addHandler(handler)
    } catch {
      handler.done.fail(terms.failed(nil))
    }
    return handler.done.futureResult
  }

  // MARK: ChannelInboundHandler

  func handlerAdded(context: ChannelHandlerContext) {
    guard context.channel.isActive else { return fail(terms.failed(nil), context) }
    timeout = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.fail(self.terms.late(), context)
    }
    do {
      try session.begin(request, isComplete: false, readAhead: nil, at: context.eventLoop.now)
    } catch {
      return fail(terms.failed(error), context)
    }
    while let bytes = session.nextTransmit(maximum: .max, at: context.eventLoop.now) {
      context.write(wrapOutboundOut(bytes), promise: nil)
    }
    context.flush()
    context.read()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard state == .waiting else {
      if state == .open { context.fireChannelRead(data) }
      return
    }
    session.receive(unwrapInboundIn(data), at: context.eventLoop.now)
    pull(context)
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if state == .waiting { context.read() }
    context.fireChannelReadComplete()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event as? ChannelEvent == .inputClosed, state == .waiting else {
      return context.fireUserInboundEventTriggered(event)
    }
    fail(terms.failed(nil), context)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if state == .waiting, let error = error as? BywayError { return fail(error, context) }
    context.fireErrorCaught(error)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    timeout?.cancel()
    // The connection has ended, unless the tunnel is open.
    done.fail(terms.failed(nil))
  }

  // MARK: Steps

  private func pull(_ context: ChannelHandlerContext) {
    while state != .failed, let event = session.nextEvent() {
      switch event {
      case .upgraded(let head): open(head, context)
      case .data(let bytes): if state == .open { context.fireChannelRead(wrapInboundOut(bytes)) }
      case .head(let head, _): fail(terms.refused(head), context)
      case .failed(.notUpgraded(let status)): fail(terms.refused(Self.head(status)), context)
      case .failed(.response(let failure)): fail(terms.failed(failure), context)
      case .failed: fail(terms.failed(nil), context)
      case .informational, .end, .drained: break
      }
    }
    guard state == .open else { return }
    done.succeed()
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }

  private func open(_ head: ResponseHead, _ context: ChannelHandlerContext) {
    do {
      let handlers = try terms.opened(head)
      state = .open
      try context.pipeline.syncOperations.addHandlers(handlers, position: .after(self))
    } catch {
      state = .waiting
      fail(BywayError(error), context)
    }
  }

  private func fail(_ error: BywayError, _ context: ChannelHandlerContext) {
    guard state == .waiting else { return }
    state = .failed
    done.fail(error)
    context.close(promise: nil)
  }

  private static func head(_ status: Int) -> FieldSection {
    var head = FieldSection()
    head.append(.status, String(status))
    return head
  }
}
