import Synchronization

/// A limited number of slots, with a lower limit for each known holder. Safe on any thread.
package final class Slots<Holder: Hashable & Sendable>: Sendable {
  /// A slot, which is free again when its last reference is released.
  package final class Slot: Sendable {
    private let slots: Slots
    private let holder: Holder?

    fileprivate init(_ slots: Slots, _ holder: Holder?) {
      self.slots = slots
      self.holder = holder
    }

    deinit { slots.release(holder) }
  }

  private let limit: Int
  private let limitOfOne: Int
  private let taken = Mutex((all: 0, by: [Holder: Int]()))

  /// - Parameters:
  ///   - limit: the number of slots.
  ///   - limitOfOne: the number of slots for one holder.
  package init(_ limit: Int, ofOne limitOfOne: Int = .max) {
    self.limit = limit
    self.limitOfOne = limitOfOne
  }

  /// Takes a slot. Returns `nil` if none is free, or the holder has its share.
  /// - Parameter holder: `nil` if it is not known.
  package func take(for holder: Holder? = nil) -> Slot? {
    let isFree = taken.withLock { taken in
      let own = holder.map { taken.by[$0] ?? 0 } ?? 0
      guard taken.all < limit, own < limitOfOne else { return false }
      taken.all += 1
      if let holder { taken.by[holder] = own + 1 }
      return true
    }
    return isFree ? Slot(self, holder) : nil
  }

  private func release(_ holder: Holder?) {
    taken.withLock { taken in
      taken.all -= 1
      guard let holder, let own = taken.by[holder] else { return }
      taken.by[holder] = own > 1 ? own - 1 : nil
    }
  }
}
