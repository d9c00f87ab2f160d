import NIOCore

/// A request to an agent, and its answer. Each is a length followed by a message.
final class AgentExchange: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  enum Failure: Error {
    case silence, ended, unreadable
  }

  /// The same limit as in OpenSSH's agent.
  private static let maximumLength = 256 << 10

  private let request: [UInt8]
  private let answer: EventLoopPromise<[UInt8]>
  private var received = ByteBuffer()

  /// - Parameter answer: may be completed elsewhere, too.
  init(request: [UInt8], answer: EventLoopPromise<[UInt8]>) {
    self.request = request
    self.answer = answer
  }

  func channelActive(context: ChannelHandlerContext) {
    var buffer = context.channel.allocator.buffer(capacity: 4 + request.count)
    buffer.writeInteger(UInt32(request.count))
    buffer.writeBytes(request)
    context.writeAndFlush(wrapOutboundOut(buffer), promise: nil)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received.writeImmutableBuffer(unwrapInboundIn(data))
    guard let length = received.getInteger(at: received.readerIndex, as: UInt32.self) else { return }
    guard (1...Self.maximumLength).contains(Int(length)) else { return finish(.failure(Failure.unreadable), context) }
    guard let message = received.getBytes(at: received.readerIndex + 4, length: Int(length)) else { return }
    finish(.success(message), context)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    finish(.failure(Failure.ended), context)
  }

  func channelInactive(context: ChannelHandlerContext) {
    finish(.failure(Failure.ended), context)
  }

  private func finish(_ result: Result<[UInt8], any Error>, _ context: ChannelHandlerContext) {
    answer.completeWith(result)
    context.close(promise: nil)
  }
}
