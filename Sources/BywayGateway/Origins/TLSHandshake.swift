import Byway
import NIOCore
import NIOSSL
import NIOTLS

/// Waits at the end of a pipeline for its TLS to be agreed on, reading for as long as that takes, so that what goes wrong
/// there is told as what it is.
final class TLSHandshake: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  struct Failure: Error {
    let cause: any Error
    /// The origin's, as far as it has shown one.
    let certificate: NIOSSLCertificate?
  }

  private let completion: EventLoopPromise<Void>
  private let gate: HandoverGate

  /// Begins TLS on a channel that is about to connect. What follows the handshake, an alert for example, is kept until
  /// the channel's owner reads.
  /// - Returns: succeeds once bytes may be sent, at the latest fails at that deadline.
  static func add(
    to channel: any Channel, _ tls: NIOSSLContext, host: String, deadline: NIODeadline
  ) throws -> EventLoopFuture<Void> {
    // Server Name Indication takes names only (RFC 6066 §3); an address is verified without it.
    let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
    let handler = try NIOSSLClientHandler(context: tls, serverHostname: isAddress ? nil : host)
    let agreed = channel.eventLoop.makePromise(of: Void.self)
    let gate = HandoverGate()
    try channel.pipeline.syncOperations.addHandlers(gate, handler, TLSHandshake(agreed, gate, deadline: deadline))
    return agreed.futureResult
  }

  private init(_ completion: EventLoopPromise<Void>, _ gate: HandoverGate, deadline: NIODeadline) {
    self.completion = completion
    self.gate = gate
    let eventLoop = completion.futureResult.eventLoop
    let timer = eventLoop.scheduleTask(deadline: deadline) { completion.fail(ChannelError.connectTimeout(.zero)) }
    completion.futureResult.whenComplete { _ in timer.cancel() }
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    context.read()
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
      gate.hold()
      completion.succeed()
      context.pipeline.syncOperations.removeHandler(self, promise: nil)
    }
    context.fireUserInboundEventTriggered(event)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    let tls = try? context.pipeline.syncOperations.handler(type: NIOSSLHandler.self)
    completion.fail(Failure(cause: error, certificate: tls?.peerCertificate))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    completion.fail(Failure(cause: NIOSSLError.uncleanShutdown, certificate: nil))
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    completion.fail(ChannelError.eof)
  }
}
