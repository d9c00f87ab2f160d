import Byway
import HTTPWire
import NIOCore

/// Answers one CONNECT (RFC 9110 §9.3.6): opens a connection, then passes bytes both ways until both ends are done.
final class TunnelUpstream: ExchangeHandler {
  private let dialer: Dialer
  private let eventLoop: any EventLoop
  private let connectTimeout: TimeAmount

  init(dialer: Dialer, on eventLoop: any EventLoop, connectTimeout: TimeAmount) {
    self.dialer = dialer
    self.eventLoop = eventLoop
    self.connectTimeout = connectTimeout
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let tunnel = Tunnel(sink: sink)
    let deadline = min(request.deadline ?? .distantFuture, .now() + connectTimeout)
    dialer.dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { tunnel.dialed($0) }
    return tunnel
  }
}

/// Both directions of one tunnel.
private final class Tunnel: RequestSink, ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var sink: (any ResponseSink)?
  private var channel: (any Channel)?
  private var context: ChannelHandlerContext?
  private var early: [ByteBuffer] = []
  private var isFinished = false
  private var uncredited = 0
  private var gate = ReadGate()

  init(sink: any ResponseSink) {
    self.sink = sink
  }

  func dialed(_ result: Result<any Channel, any Error>) {
    switch result {
    case .failure(let error):
      sink.take()?.fail(BywayError(error))
    case .success(let channel):
      guard let sink else {
        channel.close(promise: nil)
        return
      }
      self.channel = channel
      do {
        try channel.pipeline.syncOperations.addHandler(self)
      } catch {
        channel.close(promise: nil)
        self.sink = nil
        sink.fail(BywayError(error))
        return
      }
      sink.head([":status": "200"], isComplete: false)
      channel.startReading()
      for bytes in early { send(bytes) }
      early = []
      if isFinished { channel.close(mode: .output, promise: nil) }
    }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    // What comes before the connection is bounded by the client's window.
    if channel == nil { early.append(bytes) } else { send(bytes) }
  }

  func finish(trailers: FieldSection?) {
    isFinished = true
    channel?.close(mode: .output, promise: nil)
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    channel?.close(promise: nil)
  }

  func didConsumeResponse(_ bytes: Int) {
    gate.consumed(bytes)
    if gate.releaseRead() { context?.read() }
  }

  private func send(_ bytes: ByteBuffer) {
    guard let channel else { return }
    uncredited += bytes.readableBytes
    channel.writeAndFlush(bytes, promise: nil)
    if channel.isWritable { credit() }
  }

  private func credit() {
    let bytes = uncredited
    uncredited = 0
    if bytes > 0 { sink?.didConsumeRequest(bytes) }
  }

  // MARK: ChannelDuplexHandler

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
  }

  func read(context: ChannelHandlerContext) {
    if gate.admitRead() { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let bytes = unwrapInboundIn(data)
    gate.received(bytes.readableBytes)
    sink?.write(bytes)
  }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    if context.channel.isWritable { credit() }
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    guard let event = event as? ChannelEvent, event == .inputClosed else { return }
    sink.take()?.finish(trailers: nil)
    context.channel.closeOnceWritten(within: .seconds(30))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    sink.take()?.fail(BywayError(.originLost, "The tunnel's connection failed.", cause: error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    sink.take()?.finish(trailers: nil)
  }
}
