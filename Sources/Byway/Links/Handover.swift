public import NIOCore

extension Channel {
  /// The most bytes of one read.
  package static var largestRead: Int { 64 * 1024 }
  /// The most reads at a time. The channel keeps so many buffers until it closes, also while it is idle.
  package static var readsAtOnce: UInt { 2 }

  /// Sets up this channel as ``Transport`` requires. To be called last in a bootstrap's channel initializer, on the channel's event loop.
  ///
  /// - Parameter queue: the queue for an accepted channel, which it enters as soon as it is active.
  public func prepareForHandover(to queue: ChannelQueue? = nil) -> EventLoopFuture<Void> {
    eventLoop.makeCompletedFuture {
      guard let options = syncOptions else { throw ChannelError.operationUnsupported }
      try options.setOption(.autoRead, value: false)
      try options.setOption(.allowRemoteHalfClosure, value: true)
      try options.setOption(
        .recvAllocator,
        value: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 16_384, maximum: Self.largestRead))
      try options.setOption(.maxMessagesPerRead, value: Self.readsAtOnce)
      let gate = HandoverGate()
      gate.hold()
      try pipeline.syncOperations.addHandler(gate)
      if let queue { try pipeline.syncOperations.addHandler(OfferHandler(queue)) }
    }
  }
}

extension Channel {
  /// Starts reading, beginning with the bytes that the channel has kept for its owner. On the channel's event loop, after the owner's
  /// handlers were added.
  package func startReading() {
    setOption(.autoRead, value: true).whenFailure { _ in self.close(promise: nil) }
    // The option alone reads the stream, but does not call the handlers: if the peer has ended already, no event would follow.
    read()
  }
}

/// Keeps data that arrives between the opening of a channel and the first read of its new owner. Then it leaves the pipeline, so that later
/// data does not pass it.
///
/// Turning off autoRead is not enough: after the peer has ended its direction, NIO reads the stream to the end in any case. This is at
/// most the data that the kernel had buffered.
package final class HandoverGate: ChannelDuplexHandler, RemovableChannelHandler {
  package typealias InboundIn = ByteBuffer
  package typealias OutboundIn = ByteBuffer

  private enum Held {
    case bytes(NIOAny)
    case readComplete
    case event(Any)
    case error(any Error)
  }

  /// `nil` while everything passes.
  private var held: [Held]?

  package init() {}

  /// Holds everything until the next read.
  package func hold() {
    if held == nil { held = [] }
  }

  package func read(context: ChannelHandlerContext) {
    let isReleased = held != nil
    release(context)
    context.read()
    if isReleased { context.pipeline.syncOperations.removeHandler(context: context, promise: nil) }
  }

  /// Passes on held data also to an owner that has not read yet, because it writes first.
  package func channelInactive(context: ChannelHandlerContext) {
    release(context)
    context.fireChannelInactive()
  }

  private func release(_ context: ChannelHandlerContext) {
    let held = self.held ?? []
    self.held = nil
    for item in held {
      switch item {
      case .bytes(let bytes): context.fireChannelRead(bytes)
      case .readComplete: context.fireChannelReadComplete()
      case .event(let event): context.fireUserInboundEventTriggered(event)
      case .error(let error): context.fireErrorCaught(error)
      }
    }
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if held?.append(.bytes(data)) == nil { context.fireChannelRead(data) }
  }

  package func channelReadComplete(context: ChannelHandlerContext) {
    if held?.append(.readComplete) == nil { context.fireChannelReadComplete() }
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if held?.append(.event(event)) == nil { context.fireUserInboundEventTriggered(event) }
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if held?.append(.error(error)) == nil { context.fireErrorCaught(error) }
  }
}

/// Puts an accepted channel into the queue.
private final class OfferHandler: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let queue: ChannelQueue

  init(_ queue: ChannelQueue) {
    self.queue = queue
  }

  func channelActive(context: ChannelHandlerContext) {
    context.fireChannelActive()
    queue.offer(context.channel)
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
