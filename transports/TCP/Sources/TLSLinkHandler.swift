internal import Byway
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// Lets the channel look active only when its handshake is done, reads for as long as that takes, and says in plain
/// words what went wrong in it.
final class TLSLinkHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer

  private enum Phase {
    case handshaking(waiting: EventLoopPromise<Void>?)
    case open
    case failed(BywayError)
  }

  private let failure: TLSFailure
  private let gate: HandoverGate
  private let deadline: NIODeadline
  private let logger: Logger?
  private var phase = Phase.handshaking(waiting: nil)
  private var timeout: Scheduled<Void>?
  private var isClosing = false

  /// - Parameters:
  ///   - gate: in front of the TLS handler. What comes after the handshake waits there for the owner: in TLS 1.3 that
  ///     may be an alert, with which the TLS handler closes the channel.
  ///   - logger: told about a failed handshake where nobody waits for it.
  init(failure: TLSFailure, gate: HandoverGate, until deadline: NIODeadline, logger: Logger? = nil) {
    self.failure = failure
    self.gate = gate
    self.deadline = deadline
    self.logger = logger
  }

  func finished(on loop: any EventLoop) -> EventLoopFuture<Void> {
    switch phase {
    case .open: return loop.makeSucceededVoidFuture()
    case .failed(let error): return loop.makeFailedFuture(error)
    case .handshaking:
      let promise = loop.makePromise(of: Void.self)
      phase = .handshaking(waiting: promise)
      return promise.futureResult
    }
  }

  func channelActive(context: ChannelHandlerContext) {
    timeout = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.fail(self.failure.timeout, context)
    }
    context.read()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if case .handshaking = phase { return context.read() }
    // The answer to our close_notify is still to come.
    if isClosing { context.read() }
    context.fireChannelReadComplete()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent, case .handshaking(let waiting) = phase else {
      return context.fireUserInboundEventTriggered(event)
    }
    phase = .open
    timeout?.cancel()
    gate.hold()
    context.fireChannelActive()
    waiting?.succeed()
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The TLS handler cannot answer a close_notify that has waited for its owner until after the end.
    if isClosing || (error as? ChannelError == .ioOnClosedChannel && !context.channel.isActive) { return }
    let handler = try? context.pipeline.syncOperations.handler(type: NIOSSLHandler.self)
    let explained = failure.explain(error, peer: handler?.peerCertificate)
    guard case .handshaking = phase else { return context.fireErrorCaught(explained) }
    fail(error is IOError ? failure.end : explained, context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    fail(failure.end, context)
    context.fireChannelInactive()
  }

  /// A far end that does not answer our close_notify in time does not make the close a failure (RFC 8446 §6.1).
  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else { return context.close(mode: mode, promise: promise) }
    let closed = context.eventLoop.makePromise(of: Void.self)
    closed.futureResult.recover { _ in }.cascade(to: promise)
    isClosing = true
    // From here on the far end's close_notify is the end, which the TLS handler takes it for only without this option.
    try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
    context.close(promise: closed)
    context.read()
  }

  private func fail(_ error: BywayError, _ context: ChannelHandlerContext) {
    timeout?.cancel()
    guard case .handshaking(let waiting) = phase else { return }
    phase = .failed(error)
    logger?.warning("\(error.message)", metadata: ["peer": "\(context.remoteAddress.map(String.init) ?? "unknown")"])
    waiting?.fail(error)
    context.close(promise: nil)
  }
}

extension Channel {
  /// To be called on the event loop, as soon as the channel is connected.
  func finishedHandshake() -> EventLoopFuture<any Channel> {
    do {
      return try pipeline.syncOperations.handler(type: TLSLinkHandler.self).finished(on: eventLoop).map { self }
    } catch {
      return eventLoop.makeFailedFuture(error)
    }
  }
}
