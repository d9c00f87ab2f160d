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
    case handshaking, open, failed
  }

  private let failure: TLSFailure
  private let gate: HandoverGate
  private let deadline: NIODeadline
  private let logger: Logger?
  private let agreed: EventLoopPromise<Void>?
  private var phase = Phase.handshaking
  private var timeout: Scheduled<Void>?
  private var isClosing = false

  /// - Parameters:
  ///   - gate: in front of the TLS handler. What comes after the handshake waits there for the owner: in TLS 1.3 that
  ///     may be an alert, with which the TLS handler closes the channel.
  ///   - agreed: succeeds once bytes may be sent.
  ///   - logger: told about a failed handshake where nobody waits for it.
  init(
    failure: TLSFailure, gate: HandoverGate, until deadline: NIODeadline, agreed: EventLoopPromise<Void>? = nil,
    logger: Logger? = nil
  ) {
    self.failure = failure
    self.gate = gate
    self.deadline = deadline
    self.agreed = agreed
    self.logger = logger
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
    guard case TLSUserEvent.handshakeCompleted? = event as? TLSUserEvent, case .handshaking = phase else {
      return context.fireUserInboundEventTriggered(event)
    }
    phase = .open
    timeout?.cancel()
    gate.hold()
    context.fireChannelActive()
    agreed?.succeed()
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

  /// Of several addresses all but one are given up, perhaps before anything happened.
  func handlerRemoved(context: ChannelHandlerContext) {
    timeout?.cancel()
    agreed?.fail(failure.end)
  }

  private func fail(_ error: BywayError, _ context: ChannelHandlerContext) {
    timeout?.cancel()
    guard case .handshaking = phase else { return }
    phase = .failed
    logger?.warning("\(error.message)", metadata: ["peer": "\(context.remoteAddress.map(String.init) ?? "unknown")"])
    agreed?.fail(error)
    context.close(promise: nil)
  }
}
