import Byway
import NIOCore

/// Limits the logged failures: the first of a kind is reported at once, then one in each ``interval`` with the number of all
/// since.
///
/// An origin that is down fails every request, and the log may be on flash memory. Time is an argument.
struct FailureTally {
  struct Notice: Equatable {
    let message: String
    /// The number of failures since the last notice of this kind, including this one.
    let count: Int
    /// The trace of the latest of them, if it has one.
    var trace: TraceID?
  }

  private struct Row {
    var toldAt: NIODeadline
    var waiting = 0
    var message = ""
    var trace: TraceID?
  }

  static let interval = TimeAmount.seconds(10)

  private var rows: [BywayError.Code: Row] = [:]

  /// Counts a failure.
  /// - Returns: the notice to log now; `nil` if it is too soon. Then call ``due(at:)`` after ``interval``.
  mutating func add(_ error: BywayError, in trace: TraceID? = nil, at now: NIODeadline) -> Notice? {
    if var row = rows[error.code], now - row.toldAt < Self.interval {
      row.waiting += 1
      row.message = error.message
      row.trace = trace
      rows[error.code] = row
      return nil
    }
    let before = rows[error.code]?.waiting ?? 0
    rows[error.code] = Row(toldAt: now)
    return Notice(message: error.message, count: before + 1, trace: trace)
  }

  /// Returns the notices for counted failures that are due.
  mutating func due(at now: NIODeadline) -> [Notice] {
    let due = rows.filter { $0.value.waiting > 0 && now - $0.value.toldAt >= Self.interval }
    for code in due.keys { rows[code] = Row(toldAt: now) }
    return due.values.map { Notice(message: $0.message, count: $0.waiting, trace: $0.trace) }.sorted {
      $0.message < $1.message
    }
  }

  var isWaiting: Bool { rows.values.contains { $0.waiting > 0 } }
}
