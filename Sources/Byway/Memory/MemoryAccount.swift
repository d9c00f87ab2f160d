package import NIOCore
import Synchronization

/// The bytes that one connection holds on behalf of its peer.
///
/// An ordinary exchange changes a number and nothing else: what is held is reported to the ``MemoryBudget`` only beyond
/// ``step``, and from then on each time it has changed by that.
///
/// `@unchecked Sendable`: but for the two atomics everything is touched on its event loop only.
package final class MemoryAccount: @unchecked Sendable {
  /// The bytes that need not be reported.
  static let step = 32 * 1024

  let eventLoop: any EventLoop
  private let budget: MemoryBudget
  private var held = 0
  private var reported = 0
  /// The bytes that have gone since ``movedAt`` was set.
  private var moved = 0
  private let reportedBytes = Atomic(0)
  private let movedAt: Atomic<UInt64>
  /// Gives up one exchange, and says whether there was one. It is kept until the account is closed.
  private var shed: (() -> Bool)?
  private var isKnown = false

  package init(_ budget: MemoryBudget, on eventLoop: any EventLoop) {
    self.budget = budget
    self.eventLoop = eventLoop
    movedAt = Atomic(NIODeadline.now().uptimeNanoseconds)
  }

  /// Sets what gives up the exchange that holds most.
  func open(_ shed: @escaping () -> Bool) {
    self.shed = shed
  }

  /// Ends the account, which holds nothing from now on.
  func close() {
    shed = nil
    held = 0
    report()
    if isKnown { budget.remove(self) }
    isKnown = false
  }

  /// Counts bytes that came or went. After ``close()`` nothing counts.
  func change(by bytes: Int) {
    guard shed != nil else { return }
    held += bytes
    if bytes >= 0 {
      if held - reported > Self.step { report() }
    } else if reported > 0 {
      moved -= bytes
      if moved >= Self.step { noteMoved() }
      if held == 0 || reported - held > Self.step { report() }
    }
  }

  /// Whether it holds more than its share while memory is short: it should take nothing new.
  var isOverShare: Bool { held > Self.step && budget.isTight && held > budget.fairShare }

  private func noteMoved() {
    moved = 0
    movedAt.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed)
  }

  private func report() {
    let change = held - reported
    guard change != 0 else { return }
    if !isKnown, shed != nil {
      isKnown = true
      budget.add(self)
      noteMoved()
    }
    reported = held
    reportedBytes.store(held, ordering: .relaxed)
    budget.change(by: change, on: eventLoop)
  }

  // MARK: For the budget

  /// Called on any thread.
  func rank(at now: NIODeadline) -> HeldRank {
    HeldRank(
      bytes: reportedBytes.load(ordering: .relaxed),
      movedAt: .uptimeNanoseconds(movedAt.load(ordering: .relaxed)), now: now)
  }

  func shedOne() -> Bool { shed?() ?? false }
}
