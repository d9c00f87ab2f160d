package import NIOCore
import Synchronization

/// Admits one log line in ten seconds, or some, and counts the others, so that a flood of events does not flood the log.
package struct SparseLog: Sendable {
  private static let interval = TimeAmount.seconds(10)

  private let limit: Int
  private var next = NIODeadline.uptimeNanoseconds(0)
  private var admitted = 0
  private var keptBack = 0

  /// - Parameter limit: the maximum number of lines in ten seconds.
  package init(limit: Int = 1) { self.limit = limit }

  /// - Returns: the number of suppressed lines since the last one if a line may be written, else `nil`.
  package mutating func admit(at now: NIODeadline) -> Int? {
    if now >= next {
      next = now + Self.interval
      admitted = 0
    }
    guard admitted < limit else {
      keptBack += 1
      return nil
    }
    admitted += 1
    defer { keptBack = 0 }
    return keptBack
  }
}

/// A ``SparseLog`` shared by several causes of the same line.
package final class SharedSparseLog: Sendable {
  private let log: Mutex<SparseLog>

  package init(limit: Int = 1) { log = Mutex(SparseLog(limit: limit)) }

  package func admit(at now: NIODeadline) -> Int? { log.withLock { $0.admit(at: now) } }
}
