import BywayLineLayer
import NIOCore

@testable import Byway

/// The server's end of a session's streams.
final class FarStreams: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var multiplexer: Multiplexer
  private var context: ChannelHandlerContext?
  private(set) var events: [String] = []
  private(set) var received: [String]
  var consumes: (Int) -> Bool = { _ in true }

  init(_ agreement: StreamAgreement) {
    multiplexer = Multiplexer(.server, agreement)
    received = Array(repeating: "", count: agreement.count)
  }

  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    unwrapInboundIn(data).withUnsafeReadableBytes { multiplexer.receive($0) }
    while let event = multiplexer.nextEvent() {
      switch event {
      case .opened(let stream): events.append("opened \(stream)")
      case .received(let stream, let bytes):
        received[stream] += String(decoding: bytes, as: UTF8.self)
        if consumes(stream) { multiplexer.consumed(bytes.count, of: stream) }
      case .ended(let stream): events.append("ended \(stream)")
      case .aborted(let stream): events.append("aborted \(stream)")
      case .freed(let stream): events.append("freed \(stream)")
      case .violated(let reason): events.append(reason)
      }
    }
    flush()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
  }

  func write(_ text: String, to stream: Int) {
    ByteBuffer(string: text).withUnsafeReadableBytes { multiplexer.write($0, to: stream) }
    flush()
  }

  func unsent(of stream: Int) -> Int { multiplexer.backlog(of: stream) }

  func finish(_ stream: Int) {
    multiplexer.finish(stream)
    flush()
  }

  func abort(_ stream: Int) {
    multiplexer.abort(stream)
    flush()
  }

  func say(_ bytes: [UInt8]) {
    context?.writeAndFlush(NIOAny(ByteBuffer(bytes: bytes)), promise: nil)
  }

  private func flush() {
    var bytes: [UInt8] = []
    while multiplexer.nextOutput(upTo: 300, into: &bytes) {}
    // The end of a stream may free it.
    while let event = multiplexer.nextEvent() {
      if case .freed(let stream) = event { events.append("freed \(stream)") }
    }
    if !bytes.isEmpty { say(bytes) }
  }
}
