package import Logging
package import NIOCore

/// The requesting end of a link that the far end dials: listens, and gives each channel that comes.
package actor InboundLink {
  private static let listenTimeout = TimeAmount.seconds(10)

  private let link: Link
  private let logger: Logger
  private let connections: ConnectionLimit
  private var listener: (any Listener)?
  private var channels: AsyncThrowingStream<any Channel, any Error>.Iterator?
  private var isClosed = false

  /// Gateways of one far end: the latest, those that stand by, and some that are no gateways.
  package static let usualLimit = 64

  /// - Parameter limit: of the connections that are open at once. Further ones wait with the system.
  package init(_ link: Link, limit: Int = usualLimit, logger: Logger) {
    self.link = link
    connections = ConnectionLimit(limit)
    self.logger = logger
  }

  /// Listens, where it does not yet.
  /// - Returns: the address as bound.
  @discardableResult
  package func listen(on eventLoop: any EventLoop) async throws -> LinkAddress {
    if let listener { return listener.address }
    let context = LinkContext(
      group: eventLoop, logger: logger, deadline: .now() + Self.listenTimeout, connections: connections)
    let made = try await link.transport.listen(on: link.address, context: context)
    guard !isClosed, listener == nil else {
      await made.close()
      throw BywayError(.cancelled, "\(link.address) is in use here or was closed.", processing: .none)
    }
    listener = made
    channels = made.channels.makeAsyncIterator()
    return made.address
  }

  /// Reads anew the files of its address.
  /// - Returns: makes them count; `nil` where it does not listen yet.
  package func reread() async throws -> (@Sendable () -> Void)? { try await listener?.reread() }

  /// The next channel, however long the far end takes to dial. One caller at a time.
  func next(on eventLoop: any EventLoop) async throws -> any Channel {
    try await listen(on: eventLoop)
    var channels = channels
    if let channel = try await channels?.next(isolation: self) { return channel }
    throw BywayError(.linkUnavailable, "\(link.address) accepts no more links.", processing: .none)
  }

  /// Stops listening; channels that were given live on.
  package func close() async {
    isClosed = true
    // What has arrived and was not taken goes with it.
    channels = nil
    await listener.take()?.close()
  }
}
