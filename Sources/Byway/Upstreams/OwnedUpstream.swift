package import NIOCore

/// An upstream as its owner sees it, who may be on any thread.
///
/// `@unchecked Sendable`: the upstream is touched on its event loop only.
package struct OwnedUpstream: @unchecked Sendable {
  private let upstream: any Upstream
  private let eventLoop: any EventLoop

  package init(_ upstream: any Upstream, on eventLoop: any EventLoop) {
    self.upstream = upstream
    self.eventLoop = eventLoop
  }

  /// How long the far end may take to let go of the link.
  private static let patience = TimeAmount.seconds(3)

  /// Returns when all has closed: a serial port is then as it was before. What still has exchanges is not waited for longer
  /// than ``patience``.
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
