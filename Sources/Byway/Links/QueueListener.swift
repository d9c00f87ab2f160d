public import NIOCore

/// A listener made of a ``ChannelQueue`` and a way to stop what fills it.
public struct QueueListener: Listener {
  public let address: LinkAddress
  private let queue: ChannelQueue
  private let rereadFiles: @Sendable () async throws -> @Sendable () -> Void
  private let keepsArrived: Bool
  private let currentObstacle: @Sendable () -> String?
  private let stop: @Sendable () async -> Void

  /// A listener for what the queue is given.
  /// - Parameters:
  ///   - address: as bound.
  ///   - queue: filled by the transport; ended with the listener, after `stop`.
  ///   - keepsArrived: what the queue holds then can still be taken, because somebody has connected and waits. Otherwise it is
  ///     closed, as a device that was opened for nobody yet.
  ///   - obstacle: why nobody can come now; called on any thread.
  ///   - reread: reads anew the files that the address names, and returns what makes them count.
  ///   - stop: stops accepting, and removes what was made for it. Called at each ``close()``.
  public init(
    address: LinkAddress, queue: ChannelQueue, keepsArrived: Bool = false,
    obstacle: @escaping @Sendable () -> String? = { nil },
    reread: @escaping @Sendable () async throws -> @Sendable () -> Void = { {} },
    stop: @escaping @Sendable () async -> Void
  ) {
    rereadFiles = reread
    self.address = address
    self.queue = queue
    self.keepsArrived = keepsArrived
    currentObstacle = obstacle
    self.stop = stop
  }

  public var channels: AsyncThrowingStream<any Channel, any Error> { queue.channels }

  public var obstacle: String? { currentObstacle() }

  public func reread() async throws -> @Sendable () -> Void { try await rereadFiles() }

  public func close() async {
    await stop()
    if keepsArrived { queue.end() } else { queue.close() }
  }
}
