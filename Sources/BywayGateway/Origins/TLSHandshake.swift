import NIOCore
import NIOSSL
import NIOTLS

/// Waits at the end of a pipeline for its TLS to be agreed on, so that what goes wrong there is told as what it is.
final class TLSHandshake: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  struct Failure: Error {
    let cause: any Error
    /// The origin's, as far as it has shown one.
    let certificate: NIOSSLCertificate?
  }

  private let completion: EventLoopPromise<Void>

  /// - Parameter completion: succeeds once bytes may be sent, at the latest fails at that deadline.
  init(_ completion: EventLoopPromise<Void>, deadline: NIODeadline) {
    self.completion = completion
    let eventLoop = completion.futureResult.eventLoop
    let timer = eventLoop.scheduleTask(deadline: deadline) { completion.fail(ChannelError.connectTimeout(.zero)) }
    completion.futureResult.whenComplete { _ in timer.cancel() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .handshakeCompleted = event as? TLSUserEvent {
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
