package import Byway
package import NIOCore
package import NIOSSL
import NIOTLS

/// Keeps a channel inactive until its TLS handshake is complete, reads during that time, and explains failures then and later.
package final class TLSHandshake: ChannelDuplexHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundIn = ByteBuffer

  /// The failure of a handshake, with details for callers.
  package struct Failure: Error {
    package let error: BywayError
    package let reason: TLSReason
    /// The remote end's certificate, if it has shown one.
    package let certificate: NIOSSLCertificate?
  }

  private enum Phase {
    case handshaking, open, failed
  }

  private let words: any TLSWords
  private let gate: HandoverGate
  private let deadline: NIODeadline
  private let log: RefusalLog?
  private let agreed: EventLoopPromise<String?>
  private var phase = Phase.handshaking
  private var timeout: Scheduled<Void>?
  private var hasHeldActive = false
  private var isClosing = false

  /// Begins TLS on a channel that is connected or about to be. Data after the handshake is kept until the channel's owner reads. Data that
  /// arrived together with the handshake is kept behind the TLS handler, later data in front of it. Later data may be an alert, for which
  /// the TLS handler closes the channel.
  /// - Parameters:
  ///   - log: logs a failed handshake where no caller waits for it.
  /// - Returns: the negotiated protocol (RFC 7301), once bytes may be sent. Fails with a ``Failure``, at the latest at the deadline; the
  ///   channel is closed then.
  @discardableResult
  package static func add(
    to channel: any Channel, _ tls: NIOSSLHandler, words: any TLSWords, until deadline: NIODeadline,
    log: RefusalLog? = nil
  ) throws -> EventLoopFuture<String?> {
    let agreed = channel.eventLoop.makePromise(of: String?.self)
    let gate = HandoverGate()
    let handshake = TLSHandshake(words: words, gate: gate, until: deadline, agreed: agreed, log: log)
    do {
      let kept = HandoverGate()
      kept.hold()
      try channel.pipeline.syncOperations.addHandlers(gate, tls, handshake, kept)
    } catch {
      agreed.fail(error)
      throw error
    }
    return agreed.futureResult
  }

  private init(
    words: any TLSWords, gate: HandoverGate, until deadline: NIODeadline, agreed: EventLoopPromise<String?>,
    log: RefusalLog?
  ) {
    self.words = words
    self.gate = gate
    self.deadline = deadline
    self.agreed = agreed
    self.log = log
  }

  // MARK: ChannelDuplexHandler

  package func handlerAdded(context: ChannelHandlerContext) {
    if context.channel.isActive { begin(context) }
  }

  package func channelActive(context: ChannelHandlerContext) {
    hasHeldActive = true
    begin(context)
  }

  package func channelReadComplete(context: ChannelHandlerContext) {
    if case .handshaking = phase { return context.read() }
    // The answer to our close_notify has not arrived yet.
    if isClosing { context.read() }
    context.fireChannelReadComplete()
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent, case .handshaking = phase
    else { return context.fireUserInboundEventTriggered(event) }
    phase = .open
    timeout?.cancel()
    gate.hold()
    if hasHeldActive { context.fireChannelActive() }
    agreed.succeed(negotiated)
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    // The TLS handler cannot answer a close_notify that has waited for its owner until after the end.
    if isClosing || (error as? ChannelError == .ioOnClosedChannel && !context.channel.isActive) { return }
    guard case .handshaking = phase else {
      let certificate = peerCertificate(context)
      return context.fireErrorCaught(explain(TLSReason(error, peer: certificate), error, certificate))
    }
    fail(error is IOError ? .ended : TLSReason(error, peer: peerCertificate(context)), error, context)
  }

  package func channelInactive(context: ChannelHandlerContext) {
    fail(.ended, nil, context)
    context.fireChannelInactive()
  }

  /// Closes the channel. A missing answer to our close_notify is not an error (RFC 8446 §6.1).
  package func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else { return context.close(mode: mode, promise: promise) }
    let closed = context.eventLoop.makePromise(of: Void.self)
    closed.futureResult.recover { _ in }.cascade(to: promise)
    isClosing = true
    // From here on the remote end's close_notify is the end; the TLS handler treats it so only without this option.
    try? context.channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: false)
    context.close(promise: closed)
    context.read()
  }

  /// Fails an attempt that is given up: with several addresses all but one are, perhaps before they began.
  package func handlerRemoved(context: ChannelHandlerContext) {
    timeout?.cancel()
    agreed.fail(Failure(error: explain(.ended, nil, nil), reason: .ended, certificate: nil))
  }

  // MARK: Steps

  private func begin(_ context: ChannelHandlerContext) {
    guard timeout == nil, case .handshaking = phase else { return }
    timeout = context.eventLoop.assumeIsolated().scheduleTask(deadline: deadline) {
      self.fail(.timedOut, nil, context)
    }
    context.read()
  }

  private func fail(_ reason: TLSReason, _ cause: (any Error)?, _ context: ChannelHandlerContext) {
    timeout?.cancel()
    guard case .handshaking = phase else { return }
    phase = .failed
    let certificate = peerCertificate(context)
    let error = explain(reason, cause, certificate)
    let names = (error.evidence as? TLSEvidence)?.names ?? []
    log?.refused(context.remoteAddress, names: names, because: error.message)
    agreed.fail(Failure(error: error, reason: reason, certificate: certificate))
    context.close(promise: nil)
  }

  private func explain(
    _ reason: TLSReason, _ cause: (any Error)?, _ certificate: NIOSSLCertificate?
  ) -> BywayError {
    if let error = cause as? BywayError { return error }
    let evidence = TLSEvidence(reason: reason, certificate: certificate)
    var error = words.explain(evidence, cause: cause)
    error.evidence = evidence
    return error
  }

  private func peerCertificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
    (try? context.pipeline.syncOperations.handler(type: NIOSSLHandler.self))?.peerCertificate
  }
}

/// The messages for TLS failures in one context.
package protocol TLSWords: Sendable {
  func explain(_ evidence: TLSEvidence, cause: (any Error)?) -> BywayError
}
