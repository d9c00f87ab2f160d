package import NIOCore
import Synchronization

/// Lets one line through in ten seconds, and counts those that it keeps back: a flood is told, and makes none of its own.
package struct SparseLog: Sendable {
  private static let interval = TimeAmount.seconds(10)

  private var next = NIODeadline.uptimeNanoseconds(0)
  private var keptBack = 0

  package init() {}

  /// - Returns: how many were kept back since the last line, where one may be written; else `nil`.
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

/// One ``SparseLog`` for several causes of the same line.
final class SharedSparseLog: Sendable {
  private let log = Mutex(SparseLog())

  func admit(at now: NIODeadline) -> Int? { log.withLock { $0.admit(at: now) } }
}
