import Byway
import Logging
import NIOCore
import Synchronization

/// Logs failures of a gateway's origin and of other allowed servers. Safe on any thread.
final class FailureLog: Sendable {
  private struct State {
    var tally = FailureTally()
    var timer = Timer.none
  }

  private enum Timer {
    case none
    case scheduled(Scheduled<Void>)
    /// The gateway has stopped.
    case over
  }

  private let logger: Logger
  private let eventLoop: any EventLoop
  private let state = Mutex(State())

  init(_ logger: Logger, on eventLoop: any EventLoop) {
    self.logger = logger
    self.eventLoop = eventLoop
  }

  /// - Parameter trace: the trace of the exchange, if it has one.
  func add(_ error: BywayError, in trace: TraceID? = nil) {
    guard Self.isOfOrigin(error.code) else { return }
    let notice = state.withLock { state in
      let notice = state.tally.add(error, in: trace, at: .now())
      schedule(&state)
      return notice
    }
    if let notice { write(notice) }
  }

  /// Whether an error is one of the origin. Errors of clients are answered, not logged: clients could fill the log.
  private static func isOfOrigin(_ code: BywayError.Code) -> Bool {
    switch code {
    case .originUnavailable, .originUntrusted, .originLost, .incompleteResponse, .timedOut, .protocolViolation,
      .handlerFailed:
      true
    default: false
    }
  }

  private func schedule(_ state: inout State) {
    guard state.tally.isWaiting, case .none = state.timer else { return }
    state.timer = .scheduled(
      eventLoop.scheduleTask(in: FailureTally.interval) { [weak self] in self?.tellDue() })
  }

  /// Ends the wait for more failures to count.
  func finish() {
    state.withLock { state in
      if case .scheduled(let timer) = state.timer { timer.cancel() }
      state.timer = .over
    }
  }

  private func tellDue() {
    let notices: [FailureTally.Notice] = state.withLock { state in
      guard case .scheduled = state.timer else { return [] }
      state.timer = .none
      let notices = state.tally.due(at: .now())
      schedule(&state)
      return notices
    }
    notices.forEach(write)
  }

  private func write(_ notice: FailureTally.Notice) {
    var metadata: Logger.Metadata = ["reason": "\(notice.message)"]
    if notice.count > 1 { metadata["count"] = "\(notice.count)" }
    if let trace = notice.trace { metadata["trace"] = "\(trace)" }
    logger.warning("A request failed", metadata: metadata)
  }
}
