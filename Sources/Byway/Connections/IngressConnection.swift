package import Byway
import BywayHTTPWire
package import NIOCore

/// A connection whose first bytes tell its HTTP version: HTTP/2 begins with a preface that is not a request of HTTP/1.1
/// (RFC 9113 §3.4).
///
/// Removes itself from the pipeline once the version is known. Lives on its channel's event loop.
package final class IngressConnection: ChannelInboundHandler, RemovableChannelHandler, ServedConnection {
  package typealias InboundIn = ByteBuffer

  private let channel: any Channel
  private let handler: any ExchangeHandler
  private let configuration: ServerConfiguration
  private var received = ByteBuffer()
  private var connection: (any ServedConnection)?
  private var timer: Scheduled<Void>?
  private var isDraining = false
  private let beginning = NIODeadline.now()

  package static func start(
    on channel: any Channel, handler: any ExchangeHandler, configuration: ServerConfiguration
  ) throws -> IngressConnection {
    let connection = IngressConnection(channel, handler, configuration)
    try channel.pipeline.syncOperations.addHandler(connection)
    channel.startReading()
    return connection
  }

  private init(_ channel: any Channel, _ handler: any ExchangeHandler, _ configuration: ServerConfiguration) {
    self.channel = channel
    self.handler = handler
    self.configuration = configuration
  }

  // MARK: ServedConnection

  package var runningExchanges: Int { connection?.runningExchanges ?? 0 }

  package var idleSince: NIODeadline? {
    if let connection { connection.idleSince } else { beginning }
  }

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
    let channel = context.channel
    timer = context.eventLoop.scheduleTask(in: configuration.timeouts.idle) { channel.close(promise: nil) }
  }

  package func handlerRemoved(context: ChannelHandlerContext) {
    timer?.cancel()
  }

  package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard connection == nil else {
      context.fireChannelRead(data)
      return
    }
    received.writeImmutableBuffer(unwrapInboundIn(data))
    let beginning = received.readableBytesView.prefix(ClientPreface.bytes.count)
    guard ClientPreface.bytes.starts(with: beginning) else { return start(isHTTP2: false, context) }
    if beginning.count == ClientPreface.bytes.count { start(isHTTP2: true, context) }
  }

  package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    let isEnd = (event as? ChannelEvent) == .inputClosed
    if isEnd, connection == nil { start(isHTTP2: false, context) }
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
