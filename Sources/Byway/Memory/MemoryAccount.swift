package import NIOCore
import Synchronization

/// The bytes that one connection holds on behalf of its peer.
///
/// A small exchange only changes a number: held bytes are reported to the ``MemoryBudget`` only beyond ``step``, and from then on after
/// each change of that size.
///
/// `@unchecked Sendable`: everything but the two atomics is used on its event loop only.
package final class MemoryAccount: @unchecked Sendable {
  /// The number of bytes that need not be reported.
  static let step = 32 * 1024

  let eventLoop: any EventLoop
  private let budget: MemoryBudget
  private var held = 0
  private var reported = 0
  /// The bytes that have been passed on since ``movedAt`` was set.
  private var moved = 0
  private let reportedBytes = Atomic(0)
  private let movedAt: Atomic<UInt64>
  /// Drops one exchange, and returns whether there was one. Kept until the account is closed.
  private var drop: (() -> Bool)?
  private var isKnown = false

  package init(_ budget: MemoryBudget, on eventLoop: any EventLoop) {
    self.budget = budget
    self.eventLoop = eventLoop
    movedAt = Atomic(NIODeadline.now().uptimeNanoseconds)
  }

  /// Opens the account.
  /// - Parameter drop: drops the exchange that holds most.
  func open(_ drop: @escaping () -> Bool) {
    self.drop = drop
  }

  /// Closes the account, which holds nothing from now on.
  func close() {
    drop = nil
    held = 0
    report()
    if isKnown { budget.remove(self) }
    isKnown = false
  }

  /// Counts bytes that were added or removed. No effect after ``close()``. Inlined, because each exchange calls it seven times.
  @inline(__always)
  func change(by bytes: Int) {
    guard drop != nil else { return }
    held += bytes
    if bytes >= 0 {
      if held - reported > Self.step { report() }
    } else if reported > 0 {
      moved -= bytes
      if moved >= Self.step { noteMoved() }
      if held == 0 || reported - held > Self.step { report() }
    }
  }

  /// Whether it holds more than its share while memory is scarce, so that it should take no more.
  var isOverShare: Bool { held > Self.step && budget.isTight && held > budget.fairShare }

  private func noteMoved() {
    moved = 0
    movedAt.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
  }

  private func report() {
    let change = held - reported
    guard change != 0 else { return }
    if !isKnown, drop != nil {
      isKnown = true
      budget.add(self)
      noteMoved()
    }
    reported = held
    reportedBytes.store(held, ordering: .relaxed)
    budget.change(by: change, on: eventLoop)
  }

  // MARK: For the budget

  /// Returns its rank for shedding. Any thread.
  func rank(at now: NIODeadline) -> HeldRank {
    HeldRank(
      bytes: reportedBytes.load(ordering: .relaxed),
      movedAt: .uptimeNanoseconds(movedAt.load(ordering: .relaxed)), now: now)
  }

  func dropOne() -> Bool { drop?() ?? false }
}
