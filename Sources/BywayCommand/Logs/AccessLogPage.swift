import Byway
import Synchronization

/// The lines of one event loop that wait to be written. Safe on any thread: the lock is taken for every line, and but for the writer
/// nobody else wants it.
final class AccessLogPage: Sendable {
  /// What is to be done when a line was added.
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

  /// So many bytes are worth a write of their own: few enough to be in the processor's cache still.
  private static let portion = 64 << 10
  /// Bytes that may wait.
  private static let limit = 1 << 20

  private let state: Mutex<State>

  init(_ format: AccessLogFormat) {
    state = Mutex(State(form: AccessLogLine(format)))
  }

  func add(_ exchange: ExchangeRecord) -> Step {
    state.withLock { state in
      let before = state.lines.count
      // A line is about as long as what it tells of; where there is no room it need not be made.
      guard before + exchange.head.withUnsafeBytes(\.count) <= Self.limit else {
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

  /// - Parameter lines: what is in it is through; changes places with what waits here.
  /// - Returns: how many found no room.
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
