import Byway
import NIOCore

/// Which failures to tell now, and how many to leave out: the first of a kind at once, then one in ``interval`` with the number
/// of all since.
///
/// An origin that is down fails every request, and a log is on somebody's flash. Time is an argument.
struct FailureTally {
  struct Notice: Equatable {
    let message: String
    /// Since the last notice of this kind, this one included.
    let count: Int
    /// Of the latest of them, where it has one.
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

  /// - Returns: what to tell now; `nil` where it is too soon, and ``due(at:)`` is to be asked after ``interval``.
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

  /// What was left out and is not told yet.
  mutating func due(at now: NIODeadline) -> [Notice] {
    let due = rows.filter { $0.value.waiting > 0 && now - $0.value.toldAt >= Self.interval }
    for code in due.keys { rows[code] = Row(toldAt: now) }
    return due.values.map { Notice(message: $0.message, count: $0.waiting, trace: $0.trace) }.sorted {
      $0.message < $1.message
    }
  }

  var isWaiting: Bool { rows.values.contains { $0.waiting > 0 } }
}
