import BywayLibC
import BywayPrimitives
package import Logging
package import NIOCore
import NIOPosix

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
    let eventLoop = group.next()
    let (near, far) = try sockets()
    let released = eventLoop.makePromise(of: Void.self)
    do {
      let thread = try SystemThread.start {
        MediumPump(self, socket: far, logger: logger).run()
        released.succeed()
      }
      pthread_detach(thread)
    } catch {
      for descriptor in [near, far, descriptor] { close(descriptor) }
      released.succeed()
      throw error
    }
    // The channel owns its socket, and closes it if its setup fails, which ends the thread.
    return try await ClientBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(MediumHandler(released: released.futureResult))
        }
        .flatMap { channel.prepareForHandover(to: queue) }
      }
      .withConnectedSocket(near).get()
  }

  private func sockets() throws -> (near: CInt, far: CInt) {
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else {
      let error = SystemError.last
      close(descriptor)
      throw error
    }
    if case .messages(var limit, _) = self.kind {
      // The line layer must choose the next bytes late, so few wait here. The kernel takes this as a wish.
      setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &limit, socklen_t(MemoryLayout<CInt>.size))
    }
    return (pair[0], pair[1])
  }
}
