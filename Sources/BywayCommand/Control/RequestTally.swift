import Byway
import Synchronization

/// Counts exchanges for the status. Safe on any thread.
final class RequestTally: ExchangeObserver {
  private let running = Atomic(0)
  private let done = Atomic(0)
  private let failed = Mutex<[String: Int]>([:])

  func exchangeBegan(_ exchange: ExchangeRecord) {
    running.add(1, ordering: .relaxed)
  }

  func exchangeEnded(_ exchange: ExchangeRecord) {
    running.subtract(1, ordering: .relaxed)
    if let failure = exchange.failure {
      failed.withLock { $0["\(failure.code)", default: 0] += 1 }
    } else {
      done.add(1, ordering: .relaxed)
    }
  }

  var requests: DaemonStatus.Requests {
    DaemonStatus.Requests(
      running: running.load(ordering: .relaxed), done: done.load(ordering: .relaxed), failed: failed.withLock(\.self))
  }
}
