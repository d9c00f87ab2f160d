package import Logging
package import NIOCore

/// The requesting end of a link that the remote end dials: listens, and returns each accepted channel.
package actor InboundLink {
  private static let listenTimeout = TimeAmount.seconds(10)

  private let link: Link
  private let logger: Logger
  private let connections: ConnectionLimit
  private var listener: (any Listener)?
  private var channels: AsyncThrowingStream<any Channel, any Error>.Iterator?
  private var isClosed = false
  private var closing: Task<Void, Never>?

  /// Enough for the gateways of one remote end: the latest, those that stand by, and a few connections that are not gateways.
  package static let usualLimit = 64

  /// - Parameter limit: the maximum number of open connections. Further ones wait in the operating system.
  package init(_ link: Link, limit: Int = usualLimit, logger: Logger) {
    self.link = link
    connections = ConnectionLimit(limit)
    self.logger = logger
  }

  /// Listens, unless it does so already.
  /// - Parameter refused: called for each client that the transport refuses, on any thread.
  /// - Returns: the bound address.
  @discardableResult
  package func listen(
    on eventLoop: any EventLoop, refused: (@Sendable (ClientRefusal) -> Void)? = nil
  ) async throws -> LinkAddress {
    if let listener { return listener.address }
    var context = LinkContext(
      group: eventLoop, logger: logger, deadline: .now() + Self.listenTimeout, connections: connections)
    context.refused = refused
    let made = try await link.transport.listen(on: link.address, context: context)
    guard !isClosed, listener == nil else {
      await made.close()
      throw BywayError(.cancelled, "\(link.address) is in use here or was closed.", processing: .none)
    }
    listener = made
    channels = made.channels.makeAsyncIterator()
    return made.address
  }

  /// Reads the files of its address again.
  /// - Returns: puts them into effect; `nil` if it does not listen yet.
  package func reread() async throws -> (@Sendable () -> Void)? { try await listener?.reread() }

  /// Returns the next channel, however long the remote end takes to dial. One caller at a time.
  package func next(on eventLoop: any EventLoop) async throws -> any Channel {
    try await listen(on: eventLoop)
    var channels = channels
    if let channel = try await channels?.next(isolation: self) { return channel }
    throw BywayError(.linkUnavailable, "\(link.address) accepts no more links.", processing: .none)
  }

  /// Stops listening, and returns when that is done, for each caller. Channels that were returned stay open.
  package func close() async {
    isClosed = true
    // Accepted channels that were not taken are closed.
    channels = nil
    if let listener = listener.take() { closing = Task { await listener.close() } }
    await closing?.value
  }
}
