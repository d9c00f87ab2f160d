import Synchronization

/// Ends the wait of a thread that has a device, from any other thread, and for good.
package final class Interruption: Sendable {
  let waker: Waker
  private let wanted = Atomic(false)

  package init() throws(LineFailure) {
    waker = try Waker()
  }

  package var isWanted: Bool { wanted.load(ordering: .relaxed) }

  package func want() {
    wanted.store(true, ordering: .relaxed)
    waker.wake()
  }
}
