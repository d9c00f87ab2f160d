public import NIOCore

/// A listener made of a ``ChannelQueue`` and a function that stops filling it.
public struct QueueListener: Listener {
  public let address: LinkAddress
  private let queue: ChannelQueue
  private let rereadFiles: @Sendable () async throws -> @Sendable () -> Void
  private let keepsArrived: Bool
  private let currentReason: @Sendable () -> String?
  private let stop: @Sendable () async -> Void

  /// Creates a listener for the channels of a queue.
  /// - Parameters:
  ///   - address: the bound address.
  ///   - queue: filled by the transport; ended with the listener, after `stop`.
  ///   - keepsArrived: whether channels that are queued at the end can still be taken, because their clients have connected and wait.
  ///     Otherwise they are closed, as a device that was opened without a client.
  ///   - unavailableReason: returns why the listener cannot be reached now; called on any thread.
  ///   - reread: reads the files of the address again, and returns a function that puts them into effect.
  ///   - stop: stops accepting, and removes what was created for it. Called at each ``close()``.
  public init(
    address: LinkAddress, queue: ChannelQueue, keepsArrived: Bool = false,
    unavailableReason: @escaping @Sendable () -> String? = { nil },
    reread: @escaping @Sendable () async throws -> @Sendable () -> Void = { {} },
    stop: @escaping @Sendable () async -> Void
  ) {
    rereadFiles = reread
    self.address = address
    self.queue = queue
    self.keepsArrived = keepsArrived
    currentReason = unavailableReason
    self.stop = stop
  }

  public var channels: AsyncThrowingStream<any Channel, any Error> { queue.channels }

  public var unavailableReason: String? { currentReason() }

  public func reread() async throws -> @Sendable () -> Void { try await rereadFiles() }

  public func close() async {
    await stop()
    if keepsArrived { queue.end() } else { queue.close() }
  }
}
