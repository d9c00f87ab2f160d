import NIOCore
import Primitives

/// What a daemon says that has begun to stop: which process ends, and when at the latest.
struct StopNotice: Sendable, Hashable {
  let processID: Int
  let patience: Duration

  /// - Parameter patience: what running requests may still need.
  init(of processID: Int, within patience: TimeAmount) {
    self.processID = processID
    // What is left of them is closed then, and that needs a moment as well.
    self.patience = .nanoseconds(patience.nanoseconds) + .seconds(5)
  }

  /// - Returns: `nil` where an older version says nothing of it.
  init?(_ text: String) {
    guard let json = JSON(parsing: text), case .number(let process) = json["processID"],
      case .number(let time) = json["milliseconds"], let processID = Int(process), processID > 0,
      let milliseconds = Int(time), milliseconds >= 0
    else { return nil }
    self.processID = processID
    patience = .milliseconds(milliseconds)
  }

  var json: JSON {
    let milliseconds = patience.components.seconds * 1000 + patience.components.attoseconds / 1_000_000_000_000_000
    return ["processID": .number(processID), "milliseconds": .number(Int(milliseconds))]
  }

  /// Returns when the process has ended.
  /// - Returns: it has ended in time.
  func wait() async throws -> Bool {
    let deadline = ContinuousClock.now + patience
    guard let id = Int32(exactly: processID) else { return false }
    while RunningProcess.isRunning(id) {
      guard ContinuousClock.now < deadline else { return false }
      try await Task.sleep(for: .milliseconds(20))
    }
    return true
  }
}
