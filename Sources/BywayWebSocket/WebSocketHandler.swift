import Byway
import NIOCore
import NIOWebSocket

/// Converts frames to messages, answers pings, and closes as required by RFC 6455 §7. Lives on its channel's event loop.
final class WebSocketHandler: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = WebSocket.Message
  typealias OutboundIn = Outgoing
  typealias OutboundOut = WebSocketFrame

  enum Outgoing: Sendable {
    case message(WebSocket.Message)
    case close(CloseFrame)
  }

  private enum State {
    case open
    /// This end has closed.
    case closing
    /// Both directions have ended.
    case closed
  }

  private let ending: WebSocketEnding
  private let patience: TimeAmount
  private var state = State.open
  private var timer: Scheduled<Void>?
  /// The answer to the latest ping, while nothing can be sent.
  private var pong: ByteBuffer?

  init(_ ending: WebSocketEnding, patience: TimeAmount) {
    self.ending = ending
    self.patience = patience
  }

  // MARK: In

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    switch frame.opcode {
    case .connectionClose where state != .closed: closed(context, frame.data)
    // After its close frame this end ignores further messages.
    case _ where state != .open: break
    case .text: received(context, frame.data)
    case .binary: context.fireChannelRead(wrapInboundOut(.binary(frame.data)))
    case .ping:
      pong = frame.data
      sendPong(context)
    default: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    // The reader of the messages may have stopped, but the server's close must still be received.
    if state != .open { context.read() }
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if state == .open { sendPong(context) }
    context.fireChannelWritabilityChanged()
  }

  /// Answers only the latest ping if pings arrive faster than answers can be sent (§5.5.3). A server that pings and does not read uses no
  /// memory.
  private func sendPong(_ context: ChannelHandlerContext) {
    guard context.channel.isWritable, let data = pong.take() else { return }
    send(context, .pong, data)
  }

  private func received(_ context: ChannelHandlerContext, _ data: ByteBuffer) {
    guard let text = String(validating: data.readableBytesView, as: UTF8.self) else {
      return violated(context, WebSocketViolation(code: 1007, problem: "sent a text that is not UTF-8"))
    }
    context.fireChannelRead(wrapInboundOut(.text(text)))
  }

  private func closed(_ context: ChannelHandlerContext, _ data: ByteBuffer) {
    guard let closure = CloseFrame.closure(data) else {
      return violated(context, WebSocketViolation(code: 1002, problem: "closed with an invalid code or reason"))
    }
    ending.closed(by: closure)
    finish(context, CloseFrame(answering: data))
    context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard state != .closed else { return }
    if let violation = WebSocketViolation(error) { return violated(context, violation) }
    fail(context, BywayError(error))
  }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    if state == .open {
      fail(context, BywayError(.originLost, "The WebSocket's connection ended without a close."))
    }
    state = .closed
    context.fireChannelInactive()
  }

  // MARK: Out

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard state == .open else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    switch unwrapOutboundIn(data) {
    case .message(.text(let text)): send(context, .text, ByteBuffer(string: text), promise)
    case .message(.binary(let bytes)): send(context, .binary, bytes, promise)
    case .close(let frame):
      send(context, .connectionClose, frame.data, promise)
      state = .closing
      awaitEnd(context)
    }
  }

  private func send(
    _ context: ChannelHandlerContext, _ opcode: WebSocketOpcode, _ data: ByteBuffer,
    _ promise: EventLoopPromise<Void>? = nil
  ) {
    let frame = WebSocketFrame(fin: true, opcode: opcode, maskKey: .random(), data: data)
    context.writeAndFlush(wrapOutboundOut(frame), promise: promise)
  }

  // MARK: The end

  private func violated(_ context: ChannelHandlerContext, _ violation: WebSocketViolation) {
    finish(context, CloseFrame(violation.code))
    let code = violation.code == 1009 ? BywayError.Code.tooLarge : .protocolViolation
    fail(context, BywayError(code, "The server \(violation.problem)."))
  }

  private func fail(_ context: ChannelHandlerContext, _ error: BywayError) {
    ending.failed(error)
    context.fireErrorCaught(error)
  }

  /// Sends the close frame of this end, unless it was sent before; the server ends the connection (§7.1.1).
  private func finish(_ context: ChannelHandlerContext, _ frame: CloseFrame) {
    if state == .open { send(context, .connectionClose, frame.data) }
    state = .closed
    ending.closed()
    context.close(mode: .output, promise: nil)
    awaitEnd(context)
  }

  private func awaitEnd(_ context: ChannelHandlerContext) {
    context.read()
    guard timer == nil else { return }
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: patience) { context.close(promise: nil) }
  }
}
