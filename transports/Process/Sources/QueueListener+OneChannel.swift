import Byway
import NIOCore

extension QueueListener {
  /// Opens a channel, and returns a listener that accepts only that one.
  /// - Parameter open: opens the channel, and hands it over to the queue.
  init(address: LinkAddress, open: (ChannelQueue) async throws -> any Channel) async throws {
    let queue = ChannelQueue(limit: 1)
    _ = try await open(queue)
    queue.end()
    self.init(address: address, queue: queue) {}
  }
}
