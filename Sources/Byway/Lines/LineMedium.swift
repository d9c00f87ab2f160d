import BywayLibC
import BywayPrimitives
package import Logging
package import NIOCore

/// An open medium of a line that an event loop cannot use: it keeps messages apart, or its state changes between two calls of an event loop.
/// A virtio port, an ISO-TP socket.
package struct LineMedium: Sendable {
  package enum Kind: Sendable, Hashable {
    /// A stream of bytes.
    case bytes
    /// Messages of up to that many bytes, on a socket. An error in the set loses the message that it is about, and nothing else.
    case messages(limit: Int, loss: Set<CInt>)
  }

  package let descriptor: CInt
  package let kind: Kind
  /// The medium in log messages.
  package let name: String

  /// - Parameter descriptor: an open descriptor that does not block, which the medium owns.
  package init(_ descriptor: CInt, _ kind: Kind, name: String) {
    self.descriptor = descriptor
    self.kind = kind
    self.name = name
  }

  /// Makes a channel of the medium, which is closed with the channel, and before the channel's close completes. It is also closed if this
  /// fails.
  ///
  /// A thread moves the bytes between the medium and a pair of sockets, because only that pair fits an event loop.
  /// - Parameter queue: the queue that receives the channel when it is active.
  package func open(on group: any EventLoopGroup, to queue: ChannelQueue? = nil, logger: Logger) async throws
    -> any Channel
  {
    let limit: Int? = if case .messages(let limit, _) = kind { limit } else { nil }
    do {
      return try await ThreadChannel.open(on: group, to: queue, sendLimit: limit) { socket in
        MediumPump(self, socket: socket, logger: logger).run()
      }
    } catch let failure as ThreadChannel.StartFailure {
      close(descriptor)
      throw failure.reason
    }
  }
}
