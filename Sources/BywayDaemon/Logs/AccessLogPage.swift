import Byway
import Synchronization

/// The lines of one event loop before they are written. Safe on any thread: each line takes the lock, for which only the writer
/// normally competes.
final class AccessLogPage: Sendable {
  /// The next step after adding a line.
  enum Step {
    case nothing
    case writeSoon, writeNow
  }

  private struct State: ~Copyable {
    var lines = LineBuffer()
    var form: AccessLogLine
    var isUrgent = false
    var lost = 0
  }

  /// The number of bytes that is worth a separate write: few enough to be in the processor's cache still.
  private static let portion = 64 << 10
  /// The limit of waiting bytes.
  private static let limit = 1 << 20

  private let state: Mutex<State>

  init(_ format: AccessLogFormat) {
    state = Mutex(State(form: AccessLogLine(format)))
  }

  func add(_ exchange: ExchangeRecord.State) -> Step {
    state.withLock { state in
      let before = state.lines.count
      // A line is about as long as the exchange's head. Without room for it, it need not be formatted.
      guard before + exchange.values.head.byteCount <= Self.limit else {
        state.lost += 1
        return .nothing
      }
      if before == 0 { state.form.synchronize() }
      state.form.append(exchange, to: &state.lines)
      if state.lines.count > Self.limit {
        state.lines.removeLast(to: before)
        state.lost += 1
      } else if state.lines.count > Self.portion, !state.isUrgent {
        state.isUrgent = true
        return .writeNow
      }
      return before == 0 ? .writeSoon : .nothing
    }
  }

  /// - Parameter lines: Lines that have been written; changes places with the waiting ones.
  /// - Returns: The number of lines that were dropped for lack of room.
  func take(_ lines: inout LineBuffer) -> Int {
    lines.removeAll()
    return state.withLock { state in
      swap(&state.lines, &lines)
      state.isUrgent = false
      defer { state.lost = 0 }
      return state.lost
    }
  }
}
