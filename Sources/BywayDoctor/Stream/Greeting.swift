package import Byway
package import NIOCore
import NIOPosix

/// The first words of a TCP server: unasked, or else in answer to the beginning of HTTP/2, which is harmless.
package struct Greeting: Sendable {
  /// A server that speaks first does so at once.
  private static let unasked = TimeAmount.milliseconds(700)
  private static let answer = TimeAmount.seconds(1)
  private static let limit = 64

  /// The first bytes, up to a limit.
  package let words: UnexpectedBytes

  /// Connects to a server and reads its first words.
  /// - Returns: `nil` if it sends nothing.
  package static func heard(at address: SocketAddress) async -> Greeting? {
    let loop = MultiThreadedEventLoopGroup.singleton.next()
    let heard = loop.makePromise(of: [UInt8].self)
    let connecting = ClientBootstrap(group: loop)
      .connectTimeout(answer)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            GreetingHandler(heard, limit: limit, asksAfter: unasked, endsAfter: answer))
        }
      }
      .connect(to: address)
    connecting.whenFailure { heard.fail($0) }
    guard let bytes = try? await heard.futureResult.get(), !bytes.isEmpty else { return nil }
    return Greeting(words: UnexpectedBytes(heard: bytes))
  }
}

/// Listens, sends one question, listens again, and closes.
private final class GreetingHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let heard: EventLoopPromise<[UInt8]>
  private let limit: Int
  private let asksAfter: TimeAmount
  private let endsAfter: TimeAmount
  private var bytes: [UInt8] = []
  private var timer: Scheduled<Void>?

  init(_ heard: EventLoopPromise<[UInt8]>, limit: Int, asksAfter: TimeAmount, endsAfter: TimeAmount) {
    self.heard = heard
    self.limit = limit
    self.asksAfter = asksAfter
    self.endsAfter = endsAfter
  }

  func channelActive(context: ChannelHandlerContext) {
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: asksAfter) {
      if !self.bytes.isEmpty { return context.close(promise: nil) }
      var preface = context.channel.allocator.buffer(capacity: 33)
      // The client's preface, and an empty SETTINGS (RFC 9113 §3.4).
      preface.writeString("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
      preface.writeBytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
      context.writeAndFlush(self.wrapOutboundOut(preface), promise: nil)
      self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: self.endsAfter) { context.close(promise: nil) }
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    bytes += unwrapInboundIn(data).readableBytesView.prefix(limit - bytes.count)
    if bytes.count >= limit || bytes.contains(UInt8(ascii: "\n")) { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    heard.succeed(bytes)
  }
}
