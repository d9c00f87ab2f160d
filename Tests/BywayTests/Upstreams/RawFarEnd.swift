import BywayHTTP2Session
import NIOCore

/// A far end that is not a regular server. It sends only the frames of its manner.
final class RawFarEnd: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  enum Manner {
    /// Sends SETTINGS and nothing after that.
    case deaf
    /// Sends GOAWAY at the first request (RFC 9113 §6.8), as if it had not seen it.
    case goesAway
    /// Resets each request immediately.
    case resets(HTTP2ErrorCode)
    /// Sends invalid HTTP/1.1.
    case garbage
    /// Allows this many concurrent streams, and responds when the test says so.
    case allows(UInt8)
  }

  private let manner: Manner
  private var received: [UInt8] = []
  private var isGreeted = false
  /// The number of requests that have arrived.
  private(set) var requests = 0
  /// The requests that are not answered yet.
  private var open: [[UInt8]] = []
  private var context: ChannelHandlerContext?

  init(_ manner: Manner) {
    self.manner = manner
  }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    switch manner {
    case .garbage: break
    case .allows(let limit): allow(limit)
    case .deaf, .goesAway, .resets: send(4, context: context)
    }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  /// Sends SETTINGS with another stream limit.
  func allow(_ limit: UInt8) {
    if let context { send(4, [0, 3, 0, 0, 0, limit], context: context) }
  }

  /// Answers the oldest requests with status 200.
  func answer(_ count: Int) {
    guard let context else { return }
    for id in open.prefix(count) { send(1, flags: 5, id: id, [0x88], context: context) }
    open.removeFirst(min(count, open.count))
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    received += unwrapInboundIn(data).readableBytesView
    if case .garbage = manner {
      requests += 1
      received = []
      context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: "\0\u{1}garbage\r\n\r\n")), promise: nil)
      return
    }
    if !isGreeted {
      guard received.count >= 24 else { return }
      received.removeFirst(24)
      isGreeted = true
    }
    while received.count >= 9 {
      let length = Int(received[0]) << 16 | Int(received[1]) << 8 | Int(received[2])
      guard received.count >= 9 + length else { return }
      let payload = Array(received[9..<9 + length])
      answer(received[3], flags: received[4], id: Array(received[5..<9]), payload, context)
      received.removeFirst(9 + length)
    }
  }

  private func answer(
    _ type: UInt8, flags: UInt8, id: [UInt8], _ payload: [UInt8], _ context: ChannelHandlerContext
  ) {
    if type == 1 {
      requests += 1
      open.append(id)
    }
    switch (manner, type) {
    case (.deaf, _), (.garbage, _): break
    case (_, 4) where flags & 1 == 0: send(4, flags: 1, context: context)
    case (_, 6) where flags & 1 == 0: send(6, flags: 1, payload, context: context)
    case (.goesAway, 1): send(7, [UInt8](repeating: 0, count: 8), context: context)
    case (.resets(let code), 1): send(3, id: id, [0, 0, 0, UInt8(code.rawValue)], context: context)
    default: break
    }
  }

  private func send(
    _ type: UInt8, flags: UInt8 = 0, id: [UInt8] = [0, 0, 0, 0], _ payload: [UInt8] = [], context: ChannelHandlerContext
  ) {
    let frame = [0, 0, UInt8(payload.count), type, flags] + id + payload
    context.writeAndFlush(wrapOutboundOut(ByteBuffer(bytes: frame)), promise: nil)
  }
}
