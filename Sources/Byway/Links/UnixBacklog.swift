import BywayLibC
package import NIOCore

/// Makes clients wait for a Unix socket. One with a full backlog refuses a connection at once (EAGAIN, connect(2)), where TCP would let the
/// client wait.
package enum UnixBacklog {
  /// The backlog of listeners, which the system may limit further. Clients in other languages do not wait, so it is larger than a burst.
  package static let length: CInt = 4096
  private static let pause = TimeAmount.milliseconds(5)

  /// - Parameter connect: called again while there is no room, until the deadline.
  package static func connect(
    on eventLoop: any EventLoop, by deadline: NIODeadline,
    _ connect: @escaping @Sendable () -> EventLoopFuture<any Channel>
  ) -> EventLoopFuture<any Channel> {
    connect().flatMapError { error in
      guard (error as? IOError)?.errnoCode == EAGAIN, deadline > .now() + pause else {
        return eventLoop.makeFailedFuture(error)
      }
      return eventLoop.flatScheduleTask(in: pause) {
        Self.connect(on: eventLoop, by: deadline, connect)
      }.futureResult
    }
  }
}
