package import BywayLineLayer
package import NIOCore

/// The two bodies of one CONNECT as the two directions of a channel, for either end of the exchange.
///
/// Lives on its channel's event loop.
package final class TunnelCarrier: StreamCarrier {
  /// The sink for bytes written here.
  package enum FarEnd {
    case server(any RequestSink)
    case client(any ResponseSink)
  }

  /// The maximum number of bytes that wait to be sent. It is small, because nothing can overtake the bytes queued here.
  private static let limit = 64 * 1024

  private var farEnd: FarEnd?
  private var early: [ByteBuffer] = []
  private var isOutputClosed = false
  package private(set) var backlog = 0
  /// `nil` after the end of the stream.
  package private(set) var channel: StreamChannel?

  /// - Parameter remoteAddress: the address of the remote end, if there is one.
  package init(on eventLoop: any EventLoop, remoteAddress: SocketAddress? = nil) {
    channel = StreamChannel(on: eventLoop, carrier: self, remoteAddress: remoteAddress)
  }

  // MARK: From the exchange

  /// Opens the channel: the exchange is a tunnel from now on.
  package func open(to farEnd: FarEnd) {
    self.farEnd = farEnd
    channel?.activate()
    for bytes in early { channel?.deliver(bytes) }
    early = []
    channel?.drained()
  }

  package func received(_ bytes: ByteBuffer) {
    // Bytes that a client sends before its tunnel is open are limited by its window, because none of them is credited.
    if farEnd == nil { early.keep(bytes) } else { channel?.deliver(bytes) }
  }

  /// - Parameter isOver: whether sending has ended as well.
  package func inputEnded(isOver: Bool) {
    channel?.inputEnded()
    if isOver { ended(nil) }
  }

  package func credited(_ bytes: Int) {
    backlog -= bytes
    channel?.drained()
  }

  package func ended(_ error: (any Error)?) {
    farEnd = nil
    channel.take()?.ended(error)
  }

  // MARK: StreamCarrier

  package var room: Int { farEnd == nil ? 0 : max(0, Self.limit - backlog) }
  package var lineStatistics: LineStatistics? { nil }

  package func write(_ bytes: ByteBuffer) {
    backlog += bytes.readableBytes
    switch farEnd {
    case .server(let sink): sink.write(bytes)
    case .client(let sink): sink.write(bytes)
    case nil: break
    }
  }

  package func flush() {}

  package func consumed(_ count: Int) {
    switch farEnd {
    case .server(let sink): sink.didConsumeResponse(count)
    case .client(let sink): sink.didConsumeRequest(count)
    case nil: break
    }
  }

  package func closeOutput() {
    guard !isOutputClosed else { return }
    isOutputClosed = true
    switch farEnd {
    case .server(let sink): sink.finish(trailers: nil)
    case .client(let sink): sink.finish(trailers: nil)
    case nil: break
    }
  }

  /// Closes both directions. On the server's side the response is completed, on the client's side the exchange is cancelled.
  package func close() {
    switch farEnd {
    case .server(let sink): sink.cancel(BywayError(.cancelled, "The tunnel was closed."))
    case .client: closeOutput()
    case nil: break
    }
    ended(nil)
  }
}
