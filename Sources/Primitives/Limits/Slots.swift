import Synchronization

/// A limited number of slots. Safe on any thread.
package final class Slots: Sendable {
  /// A slot, which is free again when its last reference is released.
  package final class Slot: Sendable {
    private let slots: Slots

    fileprivate init(_ slots: Slots) {
      self.slots = slots
    }

    deinit {
      slots.taken.withLock { $0 -= 1 }
    }
  }

  private let limit: Int
  private let taken = Mutex(0)

  package init(_ limit: Int) {
    self.limit = limit
  }

  /// Takes a slot. Returns `nil` if none is free.
  package func take() -> Slot? {
    let isFree = taken.withLock { taken in
      guard taken < limit else { return false }
      taken += 1
      return true
    }
    return isFree ? Slot(self) : nil
  }
}
