package import NIOCore
import NIOPosix

/// Event loops for tests: many, so that a test with much to do does not stop the clocks of the others.
package enum TestLoops {
  private static let group = MultiThreadedEventLoopGroup(numberOfThreads: 24)

  package static func next() -> any EventLoop { group.next() }
}
