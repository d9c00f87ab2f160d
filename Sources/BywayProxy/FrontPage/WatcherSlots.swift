import Byway
import Synchronization

/// The limit of clients that follow the list of devices: each holds a connection for as long as a tab is open. Safe on any thread.
final class WatcherSlots: Sendable {
  private static let limit = 32
  /// The limit for one user.
  private static let limitOfOne = 4

  /// A slot for one client. It is released with its last reference.
  final class Slot: Sendable {
    private let slots: WatcherSlots
    /// `nil` if users are not identified.
    private let user: UserName?

    fileprivate init(_ slots: WatcherSlots, _ user: UserName?) {
      self.slots = slots
      self.user = user
    }

    /// Whether all event streams are to end.
    var isClosed: Bool { slots.isClosed.withLock(\.self) }

    deinit {
      slots.taken.withLock { taken in
        let left = (taken[user] ?? 1) - 1
        taken[user] = left > 0 ? left : nil
      }
    }
  }

  private let taken = Mutex<[UserName?: Int]>([:])
  private let isClosed = Mutex(false)

  /// Ends the event streams of all clients.
  func close() { isClosed.withLock { $0 = true } }

  /// Takes a slot; `nil` if none is free.
  func take(for user: RequestUser) -> Slot? {
    if isClosed.withLock(\.self) { return nil }
    let user = user.name
    let isFree = taken.withLock { taken in
      let own = taken[user] ?? 0
      guard taken.values.reduce(0, +) < Self.limit, user == nil || own < Self.limitOfOne else { return false }
      taken[user] = own + 1
      return true
    }
    return isFree ? Slot(self, user) : nil
  }
}
