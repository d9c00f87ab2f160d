import Synchronization

/// How many may follow the list of devices at once: each holds a connection for as long as a tab is open. Safe on any thread.
final class WatcherSeats: Sendable {
  private static let limit = 32

  /// Free again when nobody holds it.
  final class Seat: Sendable {
    private let seats: WatcherSeats

    fileprivate init(_ seats: WatcherSeats) {
      self.seats = seats
    }

    deinit {
      seats.taken.withLock { $0 -= 1 }
    }
  }

  private let taken = Mutex(0)

  /// `nil` where none is free.
  func take() -> Seat? {
    let isFree = taken.withLock { taken in
      guard taken < Self.limit else { return false }
      taken += 1
      return true
    }
    return isFree ? Seat(self) : nil
  }
}
