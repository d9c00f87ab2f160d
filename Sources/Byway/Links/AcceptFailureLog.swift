public import Logging
public import NIOCore

extension Channel {
  /// Logs what a listening socket cannot accept. To be called in a server channel's initializer.
  ///
  /// The socket goes on listening after that, out of descriptors for example; NIO waits a moment by itself.
  public func logAcceptFailures(of address: LinkAddress, to logger: Logger) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      try pipeline.syncOperations.addHandler(AcceptFailureLog(address: address, logger: logger))
    }
  }
}

private final class AcceptFailureLog: ChannelInboundHandler {
  typealias InboundIn = any Channel

  private let address: LinkAddress
  private let logger: Logger

  init(address: LinkAddress, logger: Logger) {
    self.address = address
    self.logger = logger
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    logger.warning("Could not accept on \(address): \(error)")
  }
}
