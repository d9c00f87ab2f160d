package import LineLayer
package import NIOCore

/// The two bodies of one CONNECT as the two directions of a channel, whichever end of the exchange this is.
///
/// Lives on its channel's event loop.
package final class TunnelCarrier: StreamCarrier {
  /// Where what is written here goes.
  package enum FarEnd {
    case server(any RequestSink)
    case client(any ResponseSink)
  }

  /// Bytes that may wait to leave. Little: what is queued here cannot be overtaken any more.
  private static let limit = 64 * 1024

  private var farEnd: FarEnd?
  private var early: [ByteBuffer] = []
  private var isOutputClosed = false
  package private(set) var backlog = 0
  /// Ends when the stream does.
  package private(set) var channel: StreamChannel?

  /// - Parameter remoteAddress: whom the stream leads to, where that is an address.
  package init(on eventLoop: any EventLoop, remoteAddress: SocketAddress? = nil) {
    channel = StreamChannel(on: eventLoop, carrier: self, remoteAddress: remoteAddress)
  }

  // MARK: From the exchange

  /// The exchange is a tunnel from now on.
  package func open(to farEnd: FarEnd) {
    self.farEnd = farEnd
    channel?.activate()
    for bytes in early { channel?.deliver(bytes) }
    early = []
    channel?.drained()
  }

  package func received(_ bytes: ByteBuffer) {
    // What a client sends before its tunnel is open is bounded by its window, because none of it is credited.
    if farEnd == nil { early.append(bytes) } else { channel?.deliver(bytes) }
  }

  /// - Parameter isOver: nothing can be sent any more either.
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

  /// Whoever closes both directions has been heard to the end, or does not care.
  package func close() {
    switch farEnd {
    case .server(let sink): sink.cancel(BywayError(.cancelled, "The tunnel was closed."))
    case .client: closeOutput()
    case nil: break
    }
    ended(nil)
  }
}
