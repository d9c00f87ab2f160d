import Dispatch
import Synchronization

extension DispatchQueue {
  /// Returns when the queue has done its work so far and this, or after a time limit: the reader of a log may have stopped reading.
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

/// A continuation that is resumed by the first of two events.
private final class Waiting: Sendable {
  private let continuation: Mutex<CheckedContinuation<Void, Never>?>

  init(_ continuation: CheckedContinuation<Void, Never>) {
    self.continuation = Mutex(continuation)
  }

  func end() {
    continuation.withLock { $0.take() }?.resume()
  }
}
