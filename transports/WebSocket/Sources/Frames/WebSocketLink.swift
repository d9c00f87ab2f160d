import Byway
import NIOCore
import NIOWebSocket

/// Carries the bytes of a link in binary messages. Lives on its channel's event loop.
///
/// A close frame with code 1000 ends one direction. The other direction continues until its sender closes it as well, which RFC 6455 §5.5.1
/// permits: the answer to a close frame may wait for data that is still to be sent.
final class WebSocketLink: ChannelDuplexHandler {
  typealias InboundIn = WebSocketFrame
  typealias InboundOut = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private enum State {
    case open
    /// This end has closed its direction.
    case outputEnded
    /// The peer has closed its direction.
    case inputEnded
    /// Both directions have ended, or the owner has closed the channel: frames no longer matter.
    case closing
  }

  private let peer: String
  private let isClient: Bool
  private let times: WebSocketTimes
  private var reader: MessageReader
  private let writer: FrameWriter
  private var state = State.open
  /// Whether the owner waits for bytes.
  private var isReadWanted = false
  /// Whether the connection was cut before the owner has read. It is closed when the owner reads, so that the owner gets what came before.
  private var closesAtRead = false
  /// Whether bytes have gone in each direction since the last look.
  private var (hasSent, hasReceived) = (false, false)
  private var pinging: Scheduled<Void>?
  private var closing: Scheduled<Void>?
  /// The answer to the latest PING, while nothing can be sent. Earlier ones need no answer (§5.5.3), so a flood of them uses no memory.
  private var pong: ByteBuffer?

  /// - Parameter peer: the subject of sentences about the other end: the address.
  init(peer: String, isClient: Bool, times: WebSocketTimes) {
    self.peer = peer
    self.isClient = isClient
    self.times = times
    reader = MessageReader(peerMasks: !isClient)
    writer = FrameWriter(masks: isClient)
  }

  /// The handlers of a link, for the end of a pipeline whose handshake is complete.
  static func handlers(peer: String, isClient: Bool, times: WebSocketTimes) -> [any ChannelHandler] {
    let gate = HandoverGate()
    gate.hold()
    return [
      ByteToMessageHandler(WebSocketFrameDecoder(maxFrameSize: FrameLimits.received)),
      WebSocketLink(peer: peer, isClient: isClient, times: times), gate,
    ]
  }

  func handlerAdded(context: ChannelHandlerContext) {
    schedulePing(context, in: times.ping)
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    pinging?.cancel()
    closing?.cancel()
  }

  // MARK: In

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch reader.receive(unwrapInboundIn(data)) {
    case .bytes(let bytes): deliver(bytes, context)
    case .ping(let content):
      pong = content
      sendPong(context)
    case .pong: break
    case .close(let closure): peerClosed(closure, context)
    case .violation(let violation): violated(violation, context)
    }
  }

  private func deliver(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
    guard bytes.readableBytes > 0 else { return }
    switch state {
    case .open, .outputEnded:
      isReadWanted = false
      context.fireChannelRead(wrapInboundOut(bytes))
    case .inputEnded, .closing: break
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Also a part of a frame is a sign of life.
    hasReceived = true
    context.fireChannelReadComplete()
    // A control frame, or a part of a frame, gave the owner nothing. The end of the connection must be seen although the owner reads no more.
    if isReadWanted || state == .inputEnded || state == .closing { context.read() }
  }

  func read(context: ChannelHandlerContext) {
    isReadWanted = true
    if closesAtRead { return context.close(promise: nil) }
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
    // The connection below ends as a whole: a direction ends with a close frame.
    let isPlanned = state == .inputEnded || state == .closing
    cut(context)
    closesAtRead = !isPlanned && !isReadWanted
    if !closesAtRead { context.close(promise: nil) }
  }

  func channelInactive(context: ChannelHandlerContext) {
    cut(context)
    context.fireChannelInactive()
  }

  /// The connection has ended. Without a close frame data may be missing.
  private func cut(_ context: ChannelHandlerContext) {
    guard state == .open || state == .outputEnded else { return }
    state = .closing
    context.fireErrorCaught(
      BywayError(.linkLost, "The link with \(peer) ended without a close frame: it was cut, or the far end died."))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    if let violation = WebSocketViolation(error) { return violated(violation, context) }
    // The connection ended within a frame: `cut` tells that.
    if error is ByteToMessageDecoderError || state == .closing { return }
    context.fireErrorCaught(error)
  }

  // MARK: Out

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard state == .open || state == .inputEnded else {
      promise?.fail(ChannelError.outputClosed)
      return
    }
    hasSent = true
    var bytes = unwrapOutboundIn(data)
    while bytes.readableBytes > FrameLimits.sent, let piece = bytes.readSlice(length: FrameLimits.sent) {
      context.write(frame(.binary, piece), promise: nil)
    }
    context.write(bytes.readableBytes == 0 ? wrapOutboundOut(bytes) : frame(.binary, bytes), promise: promise)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    sendPong(context)
    context.fireChannelWritabilityChanged()
  }

  private func sendPong(_ context: ChannelHandlerContext) {
    guard state == .open || state == .inputEnded, context.channel.isWritable, let content = pong.take() else { return }
    hasSent = true
    context.writeAndFlush(frame(.pong, content), promise: nil)
  }

  private func frame(_ kind: FrameWriter.Kind, _ content: ByteBuffer) -> NIOAny {
    wrapOutboundOut(writer.frame(kind, content, mask: .random(in: 0 ... .max)))
  }

  // MARK: The PING

  private func schedulePing(_ context: ChannelHandlerContext, in time: TimeAmount) {
    pinging = context.eventLoop.assumeIsolated().scheduleTask(in: time) { self.ping(context) }
  }

  private func ping(_ context: ChannelHandlerContext) {
    let isQuiet = !hasSent || !hasReceived
    (hasSent, hasReceived) = (false, false)
    guard state == .open || state == .inputEnded else { return }
    guard isQuiet, context.channel.isWritable else { return schedulePing(context, in: times.ping) }
    context.writeAndFlush(frame(.ping, ByteBuffer()), promise: nil)
    pinging = context.eventLoop.assumeIsolated().scheduleTask(in: times.pong) { self.checkAnswer(context) }
  }

  private func checkAnswer(_ context: ChannelHandlerContext) {
    // While the owner does not read, the answer waits in the kernel.
    guard !hasReceived, isReadWanted, state == .open else { return schedulePing(context, in: times.ping - times.pong) }
    state = .closing
    let seconds = times.pong.nanoseconds / 1_000_000_000
    context.fireErrorCaught(BywayError(.linkLost, "\(peer) did not answer a PING within \(seconds) s."))
    context.close(promise: nil)
  }

  // MARK: The end

  private func peerClosed(_ closure: MessageReader.Closure, _ context: ChannelHandlerContext) {
    guard closure.isOrdinary else {
      let reason = closure.reason.isEmpty ? "" : " (\"\(closure.reason.prefix(80))\")"
      let error = BywayError(.linkLost, "\(peer) closed the link with code \(closure.code)\(reason).")
      return end(with: 1000, error, context)
    }
    switch state {
    case .open:
      state = .inputEnded
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
    case .outputEnded:
      state = .closing
      context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
      finish(context)
    case .closing:
      context.close(promise: nil)
    case .inputEnded: break
    }
  }

  private func violated(_ violation: WebSocketViolation, _ context: ChannelHandlerContext) {
    end(
      with: violation.code, BywayError(.linkLost, "\(peer) broke the WebSocket protocol: it \(violation.problem)."),
      context)
  }

  /// Ends the link with an error, and tells the peer.
  private func end(with code: Int, _ error: BywayError, _ context: ChannelHandlerContext) {
    guard state != .closing else { return }
    if state != .outputEnded { sendClose(code, context, promise: nil) }
    state = .closing
    context.fireErrorCaught(error)
    finish(context)
  }

  private func sendClose(_ code: Int, _ context: ChannelHandlerContext, promise: EventLoopPromise<Void>?) {
    let content = ByteBuffer(integer: UInt16(truncatingIfNeeded: code))
    context.writeAndFlush(frame(.close, content), promise: promise)
  }

  /// Closes the connection once it is written: the server at once, and the client after the server has (§7.1.1).
  private func finish(_ context: ChannelHandlerContext) {
    awaitEnd(context)
    guard !isClient else { return }
    let here = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.writeAndFlush(wrapOutboundOut(ByteBuffer())).whenComplete { _ in here.value.close(promise: nil) }
  }

  private func awaitEnd(_ context: ChannelHandlerContext) {
    guard closing == nil else { return }
    closing = context.eventLoop.assumeIsolated().scheduleTask(in: times.closing) { context.close(promise: nil) }
    context.read()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    switch (mode, state) {
    case (.input, _):
      promise?.fail(ChannelError.operationUnsupported)
    case (.output, .open):
      sendClose(1000, context, promise: promise)
      state = .outputEnded
    case (.output, .inputEnded):
      sendClose(1000, context, promise: promise)
      state = .closing
      finish(context)
    case (.output, .outputEnded), (.output, .closing):
      promise?.succeed()
    case (.all, .open), (.all, .outputEnded):
      if state == .open { sendClose(1000, context, promise: nil) }
      state = .closing
      awaitClose(context, promise)
      awaitEnd(context)
    case (.all, .inputEnded):
      sendClose(1000, context, promise: nil)
      state = .closing
      awaitClose(context, promise)
      finish(context)
    case (.all, .closing):
      context.close(promise: promise)
    }
  }

  private func awaitClose(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    guard let promise else { return }
    context.channel.closeFuture.cascade(to: promise)
  }
}
