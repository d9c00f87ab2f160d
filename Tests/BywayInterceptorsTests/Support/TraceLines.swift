import BywayInterceptors
import HTTPTypes
import Synchronization

/// Keeps what a ``Trace`` records.
final class TraceLines: TraceRecorder {
  private let recorded = Mutex<[TracedExchange]>([])

  func record(_ exchange: TracedExchange) {
    recorded.withLock { $0.append(exchange) }
  }

  var exchanges: [TracedExchange] { recorded.withLock { $0 } }
  var statuses: [Int] { exchanges.compactMap { $0.response?.status.code } }
  /// Everything that a recorder could show.
  var texts: [String] { exchanges.map { "\($0)" } }
}
