import Dispatch
import Synchronization

extension DispatchQueue {
  /// Returns when all that was asked of the queue is done, and this as well; or after that time, because who reads what a log writes need
  /// not go on reading.
  func run(within patience: DispatchTimeInterval, _ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      let waiting = Waiting(continuation)
      async {
        body()
        waiting.end()
      }
      DispatchQueue.global().asyncAfter(deadline: .now() + patience) { waiting.end() }
    }
  }
}

/// Ended by the first to do so.
private final class Waiting: Sendable {
  private let continuation: Mutex<CheckedContinuation<Void, Never>?>

  init(_ continuation: CheckedContinuation<Void, Never>) {
    self.continuation = Mutex(continuation)
  }

  func end() {
    continuation.withLock { $0.take() }?.resume()
  }
}
