import BywayPrimitives
import NIOCore

/// A daemon's notice that it has begun to stop: its process, and the time after which it has ended at the latest.
package struct StopNotice: Sendable, Hashable {
  package let processID: Int
  let patience: Duration

  /// - Parameter patience: The time that running requests may still take.
  init(of processID: Int, within patience: TimeAmount) {
    self.processID = processID
    // Then the rest of them are closed, which takes a moment as well.
    self.patience = .nanoseconds(patience.nanoseconds) + .seconds(5)
  }

  /// - Returns: `nil` if the text comes from an older version without it.
  package init?(_ text: String) {
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
  /// - Returns: Whether it has ended in time.
  package func wait() async throws -> Bool {
    let deadline = ContinuousClock.now + patience
    guard let id = Int32(exactly: processID) else { return false }
    while RunningProcess.isRunning(id) {
      guard ContinuousClock.now < deadline else { return false }
      try await Task.sleep(for: .milliseconds(20))
    }
    return true
  }
}
