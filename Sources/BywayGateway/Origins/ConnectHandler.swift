import Byway
import BywayHTTPWire
import NIOCore

/// Answers CONNECT requests (RFC 9110 §9.3.6): opens a connection, then passes bytes both ways until both ends are done.
final class ConnectHandler: ExchangeHandler {
  private let dialer: Dialer
  private let eventLoop: any EventLoop
  private let connectTimeout: TimeAmount
  /// The limit for tunnels whose connection has none of its own.
  private let readAhead = ReadAhead()

  init(dialer: Dialer, on eventLoop: any EventLoop, connectTimeout: TimeAmount) {
    self.dialer = dialer
    self.eventLoop = eventLoop
    self.connectTimeout = connectTimeout
  }

  func begin(_ request: ExchangeHead, respondingTo sink: any ResponseSink) -> any RequestSink {
    let tunnel = TunnelRelay(sink: sink, readAhead: request.readAhead ?? readAhead)
    let now = NIODeadline.now()
    request.observed?.sent(request.fields, to: dialer.name, at: now)
    let deadline = min(request.deadline ?? .distantFuture, now + connectTimeout)
    dialer.dial(on: eventLoop, deadline: deadline).assumeIsolated().whenComplete { tunnel.dialed($0) }
    return tunnel
  }
}

/// Both directions of one tunnel.
private final class TunnelRelay: RequestSink, ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var sink: (any ResponseSink)?
  private var channel: (any Channel)?
  private var context: ChannelHandlerContext?
  private var early: [ByteBuffer] = []
  private var isFinished = false
  private var uncredited = 0
  private var gate = ReadGate() {
    didSet { reads.bound.bytes = gate.room }
  }
  private let reads = BoundedReads()

  init(sink: any ResponseSink, readAhead: ReadAhead) {
    self.sink = sink
    gate.begin(readAhead)
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
      // Adding the handler ends the tunnel if the channel is already inactive.
      guard self.sink != nil else { return }
      sink.head([":status": "200"], isComplete: false)
      channel.startReading()
      for bytes in early { send(bytes) }
      early = []
      if isFinished { channel.close(mode: .output, promise: nil) }
    }
  }

  // MARK: RequestSink

  func write(_ bytes: ByteBuffer) {
    // Bytes that come before the connection is open are bounded by the client's window.
    if channel == nil { early.keep(bytes) } else { send(bytes) }
  }

  func finish(trailers: FieldSection?) {
    isFinished = true
    channel?.close(mode: .output, promise: nil)
  }

  func cancel(_ reason: BywayError) {
    sink = nil
    early = []
    gate.end()
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
    // If it cannot be set, the size of the channel's reads is not bounded.
    try? context.channel.syncOptions?.setOption(.recvAllocator, value: reads)
    if !context.channel.isActive { end() }
  }

  func handlerRemoved(context: ChannelHandlerContext) {
    self.context = nil
    end()
  }

  private func end() {
    gate.end()
    sink.take()?.fail(BywayError(.originLost, "The tunnel's connection was closed."))
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
    gate.end()
    sink.take()?.finish(trailers: nil)
    context.channel.closeOnceWritten(within: .seconds(30))
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    gate.end()
    sink.take()?.fail(BywayError(.originLost, "The tunnel's connection failed.", cause: error))
    context.close(promise: nil)
  }

  func channelInactive(context: ChannelHandlerContext) {
    gate.end()
    sink.take()?.finish(trailers: nil)
  }
}
