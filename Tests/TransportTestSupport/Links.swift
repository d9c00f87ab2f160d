package import Byway
package import Logging
package import NIOCore
import NIOPosix
import Synchronization

extension LinkContext {
  /// Returns a context for opening links in tests.
  package static func test(
    logger: Logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }), limit: TimeAmount = .seconds(10)
  ) -> LinkContext {
    LinkContext(group: MultiThreadedEventLoopGroup.singleton, logger: logger, deadline: .now() + limit)
  }
}

/// Returns the error of an operation that must fail; `nil` if it succeeds or throws another type.
package func bywayError<Value>(_ operation: () async throws -> Value) async -> BywayError? {
  do {
    _ = try await operation()
    return nil
  } catch {
    return error as? BywayError
  }
}

/// Waits for the next channel that a listener accepts.
package func nextChannel(of listener: any Listener) async throws -> (any Channel)? {
  for try await channel in listener.channels { return channel }
  return nil
}

/// The data and the error that a channel delivered until its end.
package struct Received: Sendable {
  package var bytes = ByteBuffer()
  package var error: (any Error)?

  package var text: String { String(buffer: bytes) }
}

extension Channel {
  /// Reads the channel until the far end ends its direction, or until `count` bytes have arrived.
  package func received(count: Int = .max, limit: TimeAmount = .seconds(10)) async throws -> Received {
    try await receiving(count: count, limit: limit).get()
  }

  /// Begins to receive, and returns when the channel has a receiver, so that it may be closed from then on.
  ///
  /// - Parameter reads: `false` to issue no reads and wait only for bytes that are delivered without one.
  package func receiving(
    count: Int = .max, reads: Bool = true, limit: TimeAmount = .seconds(10)
  ) async throws -> EventLoopFuture<Received> {
    try await eventLoop.submit {
      let promise = self.eventLoop.makePromise(of: Received.self)
      let timeout = self.eventLoop.scheduleTask(in: limit) { promise.fail(FixtureError("nothing came in time")) }
      promise.futureResult.whenComplete { _ in timeout.cancel() }
      do {
        try self.pipeline.syncOperations.addHandler(Receiver(promise: promise, count: count, reads: reads))
        if reads { self.read() }
      } catch {
        promise.fail(error)
      }
      return promise.futureResult
    }.get()
  }
}

private final class Receiver: ChannelInboundHandler, RemovableChannelHandler {
  typealias InboundIn = ByteBuffer

  private let promise: EventLoopPromise<Received>
  private let count: Int
  private let reads: Bool
  private var received = Received()

  init(promise: EventLoopPromise<Received>, count: Int, reads: Bool) {
    self.promise = promise
    self.count = count
    self.reads = reads
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.bytes.writeImmutableBuffer(unwrapInboundIn(data))
    if received.bytes.readableBytes >= count { finish(context) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    if reads { context.read() }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if received.error == nil { received.error = error }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case ChannelEvent.inputClosed? = event as? ChannelEvent { finish(context) }
  }

  func channelInactive(context: ChannelHandlerContext) { finish(context) }

  private func finish(_ context: ChannelHandlerContext) {
    promise.succeed(received)
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
