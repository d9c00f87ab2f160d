import Byway
import Synchronization

/// How many may follow the list of devices at once: each holds a connection for as long as a tab is open. Safe on any thread.
final class WatcherSeats: Sendable {
  private static let limit = 32
  /// Of one user.
  private static let limitOfOne = 4

  /// Free again when nobody holds it.
  final class Seat: Sendable {
    private let seats: WatcherSeats
    /// `nil` where nobody asks who it is.
    private let user: UserName?

    fileprivate init(_ seats: WatcherSeats, _ user: UserName?) {
      self.seats = seats
      self.user = user
    }

    /// Nobody is told anything any more.
    var isClosed: Bool { seats.isClosed.withLock(\.self) }

    deinit {
      seats.taken.withLock { taken in
        let left = (taken[user] ?? 1) - 1
        taken[user] = left > 0 ? left : nil
      }
    }
  }

  private let taken = Mutex<[UserName?: Int]>([:])
  private let isClosed = Mutex(false)

  /// Who has one is to leave.
  func close() { isClosed.withLock { $0 = true } }

  /// `nil` where none is free.
  func take(for visitor: Visitor) -> Seat? {
    if isClosed.withLock(\.self) { return nil }
    let user = visitor.name
    let isFree = taken.withLock { taken in
      let own = taken[user] ?? 0
      guard taken.values.reduce(0, +) < Self.limit, user == nil || own < Self.limitOfOne else { return false }
      taken[user] = own + 1
      return true
    }
    return isFree ? Seat(self, user) : nil
  }
}
