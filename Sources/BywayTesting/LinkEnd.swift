import NIOCore

/// The kit's end of a link. It reads only on request, and has a time limit for everything it waits for.
final class LinkEnd: Sendable {
  let channel: any Channel
  private let inbox: NIOLoopBound<Inbox>
  private let limit: TimeAmount

  private init(channel: any Channel, inbox: NIOLoopBound<Inbox>, limit: TimeAmount) {
    self.channel = channel
    self.inbox = inbox
    self.limit = limit
  }

  /// Becomes the owner of a channel.
  static func own(_ channel: any Channel, limit: TimeAmount) async throws -> LinkEnd {
    let inbox = try await channel.eventLoop.submit {
      let inbox = Inbox()
      try channel.pipeline.syncOperations.addHandler(inbox)
      return NIOLoopBound(inbox, eventLoop: channel.eventLoop)
    }.get()
    return LinkEnd(channel: channel, inbox: inbox, limit: limit)
  }

  /// Returns the next bytes; `nil` at the end of the remote end's direction.
  func next() async throws -> ByteBuffer? {
    try await channel.eventLoop.flatSubmit { self.inbox.value.next(on: self.channel.eventLoop) }
      .within(limit, "deliver bytes or an end").get()
  }

  /// Reads that many bytes of a pattern, and checks them.
  func read(_ pattern: Pattern, from start: Int = 0, count: Int) async throws {
    var offset = start
    while offset < start + count {
      guard let buffer = try await next() else {
        throw CompatibilityFailure("ended after \(offset - start) of \(count) bytes")
      }
      try expect(
        pattern.matches(buffer, at: offset), "delivered wrong bytes within \(buffer.readableBytes) at \(offset)")
      offset += buffer.readableBytes
    }
    try expect(offset == start + count, "delivered \(offset - start) bytes where \(count) were sent")
  }

  /// Expects the end of the remote end's direction, with no bytes before it.
  func readEnd() async throws {
    if let buffer = try await next() {
      throw CompatibilityFailure("delivered \(buffer.readableBytes) bytes where the end was expected")
    }
  }

  /// Writes that many bytes of a pattern, and waits until the channel has taken them.
  func write(_ pattern: Pattern, from start: Int = 0, count: Int) async throws {
    var offset = start
    while offset < start + count {
      let piece = pattern.slice(at: offset, count: start + count - offset)
      try await channel.writeAndFlush(piece).within(limit, "take bytes").get()
      offset += piece.readableBytes
    }
  }

  /// Ends the sending direction.
  func end() async throws {
    try await channel.close(mode: .output).within(limit, "end its sending direction").get()
  }

  /// Closes both directions; it may be closed already.
  func close() async throws {
    channel.close(promise: nil)
    try await channel.closeFuture.within(limit, "close").get()
  }
}

/// Keeps received bytes until they are requested.
private final class Inbox: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var context: ChannelHandlerContext?
  private var buffers = CircularBuffer<ByteBuffer>()
  private var end: Result<ByteBuffer?, any Error>?
  private var waiting: EventLoopPromise<ByteBuffer?>?

  func next(on loop: any EventLoop) -> EventLoopFuture<ByteBuffer?> {
    if let buffer = buffers.popFirst() { return loop.makeSucceededFuture(buffer) }
    // Without a context the channel has closed, without an event that says how.
    if let end = end ?? (context == nil ? .success(nil) : nil) { return loop.makeCompletedFuture(end) }
    let promise = loop.makePromise(of: ByteBuffer?.self)
    waiting = promise
    context?.read()
    return promise.futureResult
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }

  func handlerRemoved(context: ChannelHandlerContext) {
    finish(.success(nil))
    self.context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let buffer = unwrapInboundIn(data)
    if let waiting = waiting.take() {
      waiting.succeed(buffer)
    } else {
      buffers.append(buffer)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if waiting != nil { context.read() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { finish(.success(nil)) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { finish(.failure(error)) }

  func channelInactive(context: ChannelHandlerContext) { finish(.success(nil)) }

  private func finish(_ result: Result<ByteBuffer?, any Error>) {
    if end == nil { end = result }
    if let waiting = waiting.take(), let end { waiting.completeWith(end) }
  }
}
