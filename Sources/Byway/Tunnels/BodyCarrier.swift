package import LineLayer
package import NIOCore

/// The two bodies of one exchange as the two directions of a channel, at the end that sends the request.
///
/// `@unchecked Sendable`: but for ``receive(_:)`` everything is touched on its event loop only.
package final class BodyCarrier: StreamCarrier, @unchecked Sendable {
  /// Bytes that may wait in either direction.
  private static let limit = 64 * 1024

  private let eventLoop: any EventLoop
  private let outgoing: IncomingBody
  private var isOutputOver = false
  package private(set) var backlog = 0
  private var unread = 0
  private var reader: EventLoopPromise<Void>?
  /// Ends when the exchange does.
  package private(set) var channel: StreamChannel?

  /// - Returns: with the body of the request.
  package static func make(on eventLoop: any EventLoop) -> (BodyCarrier, Body) {
    let outgoing = IncomingBody(on: eventLoop)
    return (BodyCarrier(outgoing, on: eventLoop), Body(IncomingBodyHandle(outgoing), length: nil))
  }

  private init(_ outgoing: IncomingBody, on eventLoop: any EventLoop) {
    self.eventLoop = eventLoop
    self.outgoing = outgoing
    channel = StreamChannel(on: eventLoop, carrier: self)
    outgoing.onConsumed = { [unowned self] in sent($0) }
    // How the exchange ended, the response's body tells.
    outgoing.onAbandoned = { [weak self] in self?.outputIsOver() }
  }

  // MARK: The exchange

  /// Passes the response's body on, as fast as the channel is read, and ends the channel with it.
  package func receive(_ body: Body) async {
    do {
      for try await chunk in body {
        try await eventLoop.flatSubmit { self.deliver(chunk) }.get()
      }
      eventLoop.execute {
        self.channel?.inputEnded()
        self.end(nil)
      }
    } catch {
      eventLoop.execute { self.end(error) }
    }
  }

  /// - Returns: when there is room for more.
  private func deliver(_ chunk: ByteBuffer) -> EventLoopFuture<Void> {
    guard let channel else { return eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel) }
    let reader = eventLoop.makePromise(of: Void.self)
    self.reader = reader
    unread += chunk.readableBytes
    channel.deliver(chunk)
    wakeReader()
    return reader.futureResult
  }

  private func wakeReader() {
    if unread <= Self.limit || channel == nil { reader.take()?.succeed() }
  }

  private func sent(_ count: Int) {
    backlog -= count
    channel?.drained()
  }

  private func outputIsOver() {
    isOutputOver = true
    backlog = 0
    channel?.drained()
  }

  private func end(_ error: (any Error)?) {
    outgoing.finish(trailers: nil)
    channel.take()?.ended(error)
    wakeReader()
  }

  // MARK: StreamCarrier

  package var room: Int { max(0, Self.limit - backlog) }
  package var lineStatistics: LineStatistics? { nil }

  package func write(_ bytes: ByteBuffer) {
    guard !isOutputOver else { return }
    backlog += bytes.readableBytes
    outgoing.receive(bytes)
  }

  package func flush() {}

  package func consumed(_ count: Int) {
    unread -= count
    wakeReader()
  }

  package func closeOutput() {
    outgoing.finish(trailers: nil)
    outputIsOver()
  }

  package func close() {
    end(nil)
  }
}
