public import NIOCore

/// A listener made of a ``ChannelQueue`` and a way to stop what fills it.
public struct QueueListener: Listener {
  public let address: LinkAddress
  private let queue: ChannelQueue
  private let reread: @Sendable () async throws -> Void
  private let stop: @Sendable () async -> Void

  /// A listener for what the queue is given.
  /// - Parameters:
  ///   - address: as bound.
  ///   - queue: filled by the transport; ended with the listener, after `stop`. What it holds can still be taken.
  ///   - reload: reads anew the files that the address names.
  ///   - stop: stops accepting, and removes what was made for it. Called at each ``close()``.
  public init(
    address: LinkAddress, queue: ChannelQueue, reload: @escaping @Sendable () async throws -> Void = {},
    stop: @escaping @Sendable () async -> Void
  ) {
    reread = reload
    self.address = address
    self.queue = queue
    self.stop = stop
  }

  public var channels: AsyncThrowingStream<any Channel, any Error> { queue.channels }

  public func reload() async throws { try await reread() }

  public func close() async {
    await stop()
    queue.end()
  }
}
