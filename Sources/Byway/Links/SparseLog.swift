package import NIOCore
import Synchronization

/// Admits one log line in ten seconds, and counts those in between, so that a flood of events does not flood the log.
package struct SparseLog: Sendable {
  private static let interval = TimeAmount.seconds(10)

  private var next = NIODeadline.uptimeNanoseconds(0)
  private var keptBack = 0

  package init() {}

  /// - Returns: the number of suppressed lines since the last one if a line may be written, else `nil`.
  package mutating func admit(at now: NIODeadline) -> Int? {
    guard now >= next else {
      keptBack += 1
      return nil
    }
    next = now + Self.interval
    defer { keptBack = 0 }
    return keptBack
  }
}

/// A ``SparseLog`` shared by several causes of the same line.
package final class SharedSparseLog: Sendable {
  private let log = Mutex(SparseLog())

  package init() {}

  package func admit(at now: NIODeadline) -> Int? { log.withLock { $0.admit(at: now) } }
}
