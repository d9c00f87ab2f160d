package import BywayHTTPWire
package import NIOCore

/// The two bodies of one exchange as the two directions of a channel, at the requesting end.
///
/// `@unchecked Sendable`: everything but ``receive(_:)`` is used on its event loop only.
package final class BodyChannel: @unchecked Sendable {
  /// The maximum number of bytes that wait to be read.
  private static let limit = 64 * 1024

  private let eventLoop: any EventLoop
  private let carrier: TunnelCarrier
  private let outgoing: IncomingBody
  /// Whether the reader of the request's body has gone.
  private var isOutputOver = false
  private var unsent = 0
  private var unread = 0
  private var reader: EventLoopPromise<Void>?

  /// - Returns: the tunnel, and the body of its request.
  package static func make(on eventLoop: any EventLoop) -> (BodyChannel, Body) {
    let outgoing = IncomingBody(on: eventLoop)
    return (BodyChannel(outgoing, on: eventLoop), Body(IncomingBodyHandle(outgoing), length: nil))
  }

  private init(_ outgoing: IncomingBody, on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    self.outgoing = outgoing
    carrier = TunnelCarrier(on: eventLoop)
    outgoing.onConsumed = { [unowned self] in sent($0) }
    // The response's body reports how the exchange ended.
    outgoing.onCancelled = { [weak self] in self?.outputIsOver() }
  }

  /// `nil` after the end of the exchange.
  package var channel: StreamChannel? { carrier.channel }

  /// Opens the channel.
  package func open() {
    carrier.open(to: .server(self))
  }

  /// Passes the response's body on, as fast as the channel is read, and ends the channel with it.
  package func receive(_ body: Body) async {
    do {
      for try await chunk in body {
        try await eventLoop.flatSubmit { self.deliver(chunk) }.get()
      }
      eventLoop.execute { self.end(nil) }
    } catch {
      eventLoop.execute { self.end(error) }
    }
  }

  /// - Returns: a future that succeeds when there is room for more.
  private func deliver(_ chunk: ByteBuffer) -> EventLoopFuture<Void> {
    guard carrier.channel != nil else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
    let reader = eventLoop.makePromise(of: Void.self)
    self.reader = reader
    unread += chunk.readableBytes
    carrier.received(chunk)
    wakeReader()
    return reader.futureResult
  }

  private func wakeReader() {
    if unread <= Self.limit || carrier.channel == nil { reader.take()?.succeed() }
  }

  private func sent(_ count: Int) {
    unsent -= count
    carrier.credited(count)
  }

  private func outputIsOver() {
    isOutputOver = true
    sent(unsent)
  }

  private func end(_ error: (any Error)?) {
    outgoing.finish(trailers: nil)
    if let error { carrier.ended(error) } else { carrier.inputEnded(isOver: true) }
    wakeReader()
  }
}

extension BodyChannel: RequestSink {
  package func write(_ bytes: ByteBuffer) {
    unsent += bytes.readableBytes
    if isOutputOver { sent(unsent) } else { outgoing.receive(bytes) }
  }

  package func finish(trailers: FieldSection?) {
    outgoing.finish(trailers: nil)
    outputIsOver()
  }

  /// The channel was closed; the exchange may still end normally.
  package func cancel(_ reason: BywayError) {
    outgoing.finish(trailers: nil)
    reader.take()?.succeed()
  }

  package func didConsumeResponse(_ bytes: Int) {
    unread -= bytes
    wakeReader()
  }
}
