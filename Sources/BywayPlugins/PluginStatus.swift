import Byway
package import NIOCore

/// The state of a plugin, for status reports.
package struct PluginStatus: Sendable {
  package enum State: Sendable {
    /// No request has needed it.
    case notStarted
    /// Its program runs, or its server has answered. `since`: `nil` if that is unknown.
    case running(since: NIODeadline?)
    /// It is about to be started or reached, for the first time or again.
    /// - Parameters:
    ///   - reason: why it does not run; `nil` at the first start.
    ///   - next: when the next attempt is planned; `nil`: with the next request.
    case starting(reason: String?, next: NIODeadline?)
    /// No connection is open, and no failure is known.
    case idle
  }

  package let name: String
  /// Its link, without the options that are only for opening it.
  package let link: String
  package let state: State
  /// The processes that Byway has started for it.
  package let processIDs: [Int32]
  package let restarts: Int
  package let running: Int
  package let figures: PluginFigures

  package init(
    name: String, link: String, state: State, processIDs: [Int32] = [], restarts: Int = 0, running: Int = 0,
    figures: PluginFigures = PluginFigures()
  ) {
    self.name = name
    self.link = link
    self.state = state
    self.processIDs = processIDs
    self.restarts = restarts
    self.running = running
    self.figures = figures
  }
}

extension PluginStatus.State {
  init(_ status: UpstreamStatus, isProgram: Bool, start: NIODeadline?) {
    self =
      switch status.state {
      case .idle: .notStarted
      case .closed: .idle
      case .opening: .starting(reason: nil, next: status.nextAttempt)
      case .open(let since): .running(since: isProgram ? start ?? since : since)
      case .interrupted(let interruption): .running(since: interruption.since)
      case .down(let error): .starting(reason: error.message, next: status.nextAttempt)
      }
  }
}
