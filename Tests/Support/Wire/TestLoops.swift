package import NIOCore
import NIOPosix

/// Event loops for tests: many, so that a busy test does not delay the timers of others.
package enum TestLoops {
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 24)

  package static func next() -> any EventLoop { group.next() }
}
