import Synchronization

/// A limited number of slots. Safe on any thread.
package final class Seats: Sendable {
  /// A slot, which is free again when its last reference is released.
  package final class Seat: Sendable {
    private let seats: Seats

    fileprivate init(_ seats: Seats) {
      self.seats = seats
    }

    deinit {
      seats.taken.withLock { $0 -= 1 }
    }
  }

  private let limit: Int
  private let taken = Mutex(0)

  package init(_ limit: Int) {
    self.limit = limit
  }

  /// Takes a slot. Returns `nil` if none is free.
  package func take() -> Seat? {
    let isFree = taken.withLock { taken in
      guard taken < limit else { return false }
      taken += 1
      return true
    }
    return isFree ? Seat(self) : nil
  }
}
