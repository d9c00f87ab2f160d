import Dispatch
import Foundation

/// A queue that tells when a barrier is in it.
final class BarrierQueue: OperationQueue, @unchecked Sendable {
  // `@unchecked`: the semaphore is the only state of its own.
  private let barrier = DispatchSemaphore(value: 0)

  override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
    super.addBarrierBlock(barrier)
    self.barrier.signal()
  }

  /// Blocks until there is a barrier, for 20 s at most.
  func waitForBarrier() { _ = barrier.wait(timeout: .now() + 20) }
}
