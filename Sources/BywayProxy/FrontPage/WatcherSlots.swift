import Byway
import BywayPrimitives
import Synchronization

/// The limit of clients that follow the list of devices: each holds a connection for as long as a tab is open. Safe on any thread.
final class WatcherSlots: Sendable {
  private static let limit = 32
  /// The limit for one user.
  private static let limitOfOne = 4

  /// A slot for one client. It is released with its last reference.
  final class Slot: Sendable {
    private let slots: WatcherSlots
    private let slot: Slots<UserName>.Slot

    fileprivate init(_ slots: WatcherSlots, _ slot: Slots<UserName>.Slot) {
      self.slots = slots
      self.slot = slot
    }

    /// Whether all event streams are to end.
    var isClosed: Bool { slots.isClosed.withLock(\.self) }
  }

  private let slots = Slots<UserName>(WatcherSlots.limit, ofOne: WatcherSlots.limitOfOne)
  private let isClosed = Mutex(false)

  /// Ends the event streams of all clients.
  func close() { isClosed.withLock { $0 = true } }

  /// Takes a slot; `nil` if none is free.
  func take(for user: RequestUser) -> Slot? {
    if isClosed.withLock(\.self) { return nil }
    return slots.take(for: user.name).map { Slot(self, $0) }
  }
}
