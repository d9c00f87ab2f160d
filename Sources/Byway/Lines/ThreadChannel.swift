import BywayLibC
package import BywayPrimitives
package import NIOCore
import NIOPosix

/// Channels whose bytes a thread moves, for media that an event loop cannot use.
package enum ThreadChannel {
  /// The channel could not be made, and no thread has started.
  package struct StartFailure: Error {
    package let reason: SystemError
  }

  /// Makes a channel whose other end is a socket of a thread. The channel's close completes when the thread has ended.
  /// - Parameters:
  ///   - queue: the queue that receives the channel when it is active.
  ///   - patience: the time that a thread which does not end may delay the channel's close.
  ///   - run: the work of the thread. It owns the socket, which does not block, and returns after it has released the medium.
  /// - Throws: ``StartFailure`` if `run` is not called.
  package static func open(
    on group: any EventLoopGroup, to queue: ChannelQueue? = nil, patience: TimeAmount = .seconds(2),
    run: @escaping @Sendable (_ socket: CInt) -> Void
  ) async throws -> any Channel {
    try await open(on: group, to: queue, sendLimit: nil, peer: nil, patience: patience, thread: nil, run: run)
  }

  /// - Parameters:
  ///   - sendLimit: about how many bytes may wait for the thread. The kernel takes it as a wish.
  ///   - peer: the device at the other end, if the medium tells one from another.
  ///   - thread: the thread of `run`, if it may have to be interrupted.
  static func open(
    on group: any EventLoopGroup, to queue: ChannelQueue?, sendLimit: Int?, peer: String?,
    patience: TimeAmount = .seconds(2), thread medium: MediumThread?, run: @escaping @Sendable (_ socket: CInt) -> Void
  ) async throws -> any Channel {
    let eventLoop = group.next()
    let (near, far) = try sockets(sendLimit)
    let released = eventLoop.makePromise(of: Void.self)
    do {
      let thread = try SystemThread.start {
        run(far)
        released.succeed()
      }
      pthread_detach(thread)
    } catch {
      for descriptor in [near, far] { close(descriptor) }
      released.succeed()
      throw StartFailure(reason: error)
    }
    // The channel owns its socket, and closes it if its setup fails, which ends the thread.
    return try await ClientBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            MediumHandler(peer: peer, released: released.futureResult, patience: patience, thread: medium))
        }
        .flatMap { channel.prepareForHandover(to: queue) }
      }
      .withConnectedSocket(near).get()
  }

  private static func sockets(_ sendLimit: Int?) throws(StartFailure) -> (near: CInt, far: CInt) {
    var pair: [CInt] = [-1, -1]
    let kind = CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue) | CInt(SOCK_NONBLOCK.rawValue)
    guard socketpair(AF_UNIX, kind, 0, &pair) == 0 else { throw StartFailure(reason: .last) }
    if var limit = sendLimit {
      // The line layer must choose the next bytes late, so few wait here.
      setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &limit, socklen_t(MemoryLayout<CInt>.size))
    }
    return (pair[0], pair[1])
  }
}
