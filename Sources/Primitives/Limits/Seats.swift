import Synchronization

/// How many may have something at once. Safe on any thread.
package final class Seats: Sendable {
  /// Free again when nobody holds it.
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

  /// `nil` where none is free.
  package func take() -> Seat? {
    let isFree = taken.withLock { taken in
      guard taken < limit else { return false }
      taken += 1
      return true
    }
    return isFree ? Seat(self) : nil
  }
}
