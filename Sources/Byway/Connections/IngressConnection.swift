import BywayHTTPWire
package import NIOCore

/// A connection whose first bytes tell its HTTP version: HTTP/2 begins with a preface that is not a request of HTTP/1.1
/// (RFC 9113 §3.4).
///
/// Removes itself from the pipeline once the version is known. Lives on its channel's event loop.
package final class IngressConnection: ChannelInboundHandler, RemovableChannelHandler, ServedConnection {
  package typealias InboundIn = ByteBuffer

  /// The place where the connection arrives: it decides how bytes of neither version are answered.
  package enum Place: Sendable {
    /// A port for any client. Such bytes get a response of HTTP/1.1 with status 400.
    case port
    /// A link. Such bytes end it, with an error that names what the far end may be.
    case link
  }

  private let channel: any Channel
  private let place: Place
  private let handler: any ExchangeHandler
  private let configuration: ServerConfiguration
  private var received = ByteBuffer()
  private var connection: (any ServedConnection)?
  private var timer: Scheduled<Void>?
  private var isDraining = false
  /// Why it has ended before its version was known.
  private var ending: Farewell?
  private let beginning = NIODeadline.now()

  package static func start(
    on channel: any Channel, at place: Place = .port, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) throws -> IngressConnection {
    let connection = IngressConnection(channel, place, handler, configuration)
    try channel.pipeline.syncOperations.addHandler(connection)
    channel.startReading()
    return connection
  }

  private init(
    _ channel: any Channel, _ place: Place, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration
  ) {
    self.channel = channel
    self.place = place
    self.handler = handler
    self.configuration = configuration
  }

  // MARK: ServedConnection

  package var runningExchanges: Int { connection?.runningExchanges ?? 0 }

  package var idleSince: NIODeadline? {
    if let connection { connection.idleSince } else { beginning }
  }

  package var farewell: Farewell? { connection?.farewell ?? ending }

  package func closeIdle() {
    if let connection { connection.closeIdle() } else { channel.close(promise: nil) }
  }

  package func drain() {
    guard connection == nil else { return connection?.drain() ?? () }
    // Its first request may be on its way, and the client would not send it again.
    isDraining = true
    timer?.cancel()
    timer = channel.eventLoop.scheduleTask(in: configuration.timeouts.lastCall) { [channel] in
      channel.close(promise: nil)
    }
  }

  // MARK: ChannelInboundHandler

  package func handlerAdded(context: ChannelHandlerContext) {
    let patience = place == .port ? configuration.timeouts.idle : configuration.http2.timeouts.settings
    let bound = NIOLoopBound(self, eventLoop: context.eventLoop)
    timer = context.eventLoop.scheduleTask(in: patience) { bound.value.stayedSilent(for: patience) }
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
  }

  private func stayedSilent(for patience: TimeAmount) {
    ending = .failed("The far end sent no request within \(patience.nanoseconds / 1_000_000_000) s.")
    channel.close(promise: nil)
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard connection == nil else {
      context.fireChannelRead(data)
      return
    }
    received.writeImmutableBuffer(unwrapInboundIn(data))
    switch FirstBytes(received.readableBytesView) {
    case .partOfPreface: break
    case .preface: start(isHTTP2: true, context)
    case .partOfMethod: if place == .port { start(isHTTP2: false, context) }
    case .method: start(isHTTP2: false, context)
    case .neither: start(isHTTP2: place == .link, context)
    }
  }

  package func errorCaught(context: ChannelHandlerContext, error: any Error) {
    guard connection == nil, place == .link else { return context.fireErrorCaught(error) }
    ending = Farewell(error)
    context.close(promise: nil)
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    let isEnd = (event as? ChannelEvent) == .inputClosed
    if isEnd, connection == nil { start(isHTTP2: place == .link, context) }
    context.fireUserInboundEventTriggered(event)
    if isEnd { stepAside(context) }
  }

  package func channelReadComplete(context: ChannelHandlerContext) {
    context.fireChannelReadComplete()
    if connection != nil { stepAside(context) }
  }

  private func start(isHTTP2: Bool, _ context: ChannelHandlerContext) {
    timer?.cancel()
    connection =
      isHTTP2
      ? HTTP2ServerConnection.start(on: channel, handler: handler, configuration: configuration)
      : HTTP1ServerConnection.start(on: channel, handler: handler, configuration: configuration)
    if received.readableBytes > 0 { context.fireChannelRead(NIOAny(received)) }
    received = ByteBuffer()
    if isDraining { connection?.drain() }
  }

  private func stepAside(_ context: ChannelHandlerContext) {
    context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
  }
}
