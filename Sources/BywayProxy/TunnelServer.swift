import Byway
import BywayHTTPWire
import NIOCore

/// A tunnel that ends at this proxy: it carries HTTP requests, like any connection to the proxy.
///
/// Lives on its event loop.
final class TunnelServer: RequestSink {
  private let carrier: TunnelCarrier
  private let sink: any ResponseSink
  private let slot: ProxyState.TunnelSlot
  /// Kept until the tunnel is over.
  private var connection: IngressConnection?

  init(on eventLoop: any EventLoop, in slot: ProxyState.TunnelSlot, respondingTo sink: any ResponseSink) {
    self.slot = slot
    carrier = TunnelCarrier(on: eventLoop)
    self.sink = sink
  }

  /// Accepts the tunnel: only then does a client begin to send.
  /// - Throws: if the tunnel's channel cannot be set up.
  func begin(_ handler: any ExchangeHandler, _ configuration: ServerConfiguration) throws {
    guard let channel = carrier.channel else { throw ChannelError.alreadyClosed }
    try channel.syncOptions?.setOption(.autoRead, value: false)
    try channel.syncOptions?.setOption(.allowRemoteHalfClosure, value: true)
    sink.head([":status": "200"], isComplete: false)
    carrier.open(to: .client(sink))
    connection = try IngressConnection.start(on: channel, handler: handler, configuration: configuration)
  }

  func write(_ bytes: ByteBuffer) {
    carrier.received(bytes)
  }

  func finish(trailers: FieldSection?) {
    carrier.inputEnded(isOver: false)
  }

  func cancel(_ reason: BywayError) {
    carrier.ended(reason)
  }

  func didConsumeResponse(_ bytes: Int) {
    carrier.credited(bytes)
  }
}
