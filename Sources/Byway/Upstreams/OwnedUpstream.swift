package import NIOCore

/// An upstream for its owner, which may be on any thread.
///
/// `@unchecked Sendable`: the upstream is used on its event loop only.
package struct OwnedUpstream: @unchecked Sendable {
  private let upstream: any Upstream
  private let eventLoop: any EventLoop

  package init(_ upstream: any Upstream, on eventLoop: any EventLoop) {
    self.upstream = upstream
    self.eventLoop = eventLoop
  }

  /// How long the remote end may take to release the link.
  private static let patience = TimeAmount.seconds(3)

  /// Opens the connection now.
  package func open() {
    eventLoop.execute { upstream.open() }
  }

  /// Keeps no unused connection open from now on.
  package func retire() {
    eventLoop.execute { upstream.retire() }
  }

  /// The state of its connection; `nil` if its event loop has ended.
  package var status: UpstreamStatus? {
    get async { try? await eventLoop.submit { upstream.status }.get() }
  }

  /// Shuts it down, and returns when all its connections are closed: a serial port is then in its original state. Waits no longer than
  /// ``patience`` for running exchanges.
  package func shutDown() async {
    let done = eventLoop.makePromise(of: Void.self)
    eventLoop.execute {
      let limit = eventLoop.scheduleTask(in: Self.patience) { done.succeed() }
      upstream.shutDown().whenComplete { _ in
        limit.cancel()
        done.succeed()
      }
    }
    try? await done.futureResult.get()
  }
}
