import BywayHTTPWire
import NIOCore
import NIOPosix
import Synchronization

/// A limit for the bytes that a process holds on behalf of its peers: heads, bodies, and responses that wait for their reader.
///
/// Each served connection has a ``MemoryAccount``, which reports here in coarse steps. Near the limit, accounts above their fair share take
/// no more. Above the limit, the account with the highest rank drops one exchange after the other. An account without progress for seconds
/// goes first. Before any of that, each ``SpareStore`` drops records.
package final class MemoryBudget: Sendable, ReadAheadLender {
  /// The budget of this process.
  package static let shared = MemoryBudget()

  /// The default limit, in bytes.
  package static let usual = 64 << 20

  private struct Register {
    var accounts: [ObjectIdentifier: MemoryAccount] = [:]
    var stores: [WeakStore] = []
    /// The deadline for an account that was asked to drop an exchange.
    var dropBy: NIODeadline?
  }

  /// The time that an event loop has for that: a blocked one must not keep others from being asked.
  private static let dropTime = TimeAmount.seconds(1)

  private struct WeakStore {
    weak var store: (any SpareStore)?
  }

  private let heldBytes = Atomic(0)
  /// The part of them that is held by stores.
  private let spareBytes = Atomic(0)
  private let limitBytes: Atomic<Int>
  private let accountCount = Atomic(0)
  private let dropCount = Atomic(0)
  private let register = Mutex(Register())
  private let trim: MemoryTrim

  /// - Parameter trim: returns memory to the system.
  init(limit: Int = usual, trim: MemoryTrim = MemoryTrim()) {
    limitBytes = Atomic(limit)
    self.trim = trim
  }

  /// The limit in bytes.
  package var limit: Int {
    get { limitBytes.load(ordering: .relaxed) }
    set { limitBytes.store(newValue, ordering: .relaxed) }
  }

  /// The bytes held, as reported by the accounts.
  package var held: Int { heldBytes.load(ordering: .relaxed) }

  /// The number of exchanges that were dropped for lack of memory.
  package var refused: Int { dropCount.load(ordering: .relaxed) }

  /// Whether more than three quarters are used.
  package var isTight: Bool { held > tightMark }

  private var tightMark: Int {
    let limit = limit
    return limit - limit / 4
  }

  /// Whether more than everything is used.
  package var isExhausted: Bool { held > limit }

  /// The share in bytes of each registered account. All shares together leave a quarter, for what is read before an account notices.
  var fairShare: Int { tightMark / max(1, accountCount.load(ordering: .relaxed)) }

  // MARK: For accounts

  func add(_ account: MemoryAccount) {
    register.withLock { $0.accounts[ObjectIdentifier(account)] = account }
    accountCount.add(1, ordering: .relaxed)
  }

  func remove(_ account: MemoryAccount) {
    guard register.withLock({ $0.accounts.removeValue(forKey: ObjectIdentifier(account)) }) != nil else { return }
    accountCount.subtract(1, ordering: .relaxed)
  }

  /// Counts a change of the bytes that an account holds.
  func change(by bytes: Int, on eventLoop: any EventLoop) {
    let held = heldBytes.add(bytes, ordering: .relaxed).newValue
    if bytes > 0 {
      trim.rose(to: held)
      if held > tightMark { makeRoom() }
    } else {
      trim.fell(to: held, on: eventLoop)
    }
  }

  // MARK: For stores

  /// Asks a store for its bytes from now on, when memory is short. It is not retained.
  package func add(_ store: any SpareStore) {
    register.withLock { register in
      register.stores.removeAll { $0.store == nil }
      register.stores.append(WeakStore(store: store))
    }
  }

  /// Counts a change of the bytes that a store keeps. May call the store back. Safe on any thread.
  package func changeSpare(by bytes: Int) {
    guard bytes != 0 else { return }
    spareBytes.add(bytes, ordering: .relaxed)
    change(by: bytes, on: MultiThreadedEventLoopGroup.singleton.any())
  }

  /// Lets stores drop records until no more than three quarters are used.
  private func takeSpare() {
    guard isTight, spareBytes.load(ordering: .relaxed) > 0 else { return }
    for entry in register.withLock(\.stores) where isTight {
      entry.store?.release(held - tightMark + MemoryAccount.step)
    }
  }

  // MARK: Making room

  private func makeRoom() {
    takeSpare()
    if isExhausted { dropOne() }
  }

  /// Asks one account at a time to drop an exchange, while the limit is exceeded.
  private func dropOne() {
    let account: MemoryAccount? = register.withLock { register in
      let now = NIODeadline.now()
      if let dropBy = register.dropBy, now < dropBy { return nil }
      let largest = register.accounts.values.max { $0.rank(at: now) < $1.rank(at: now) }
      register.dropBy = largest.map { _ in now + Self.dropTime }
      return largest
    }
    guard let account else { return }
    account.eventLoop.execute {
      // Memory may have been released since.
      let hasDropped = self.isExhausted && account.dropOne()
      self.register.withLock { $0.dropBy = nil }
      // An account without an exchange to drop is asked again only when more memory is used.
      guard hasDropped else { return }
      self.dropCount.add(1, ordering: .relaxed)
      if self.isExhausted { self.makeRoom() }
    }
  }
}

/// A rank for the choice of the next exchange to drop: by lack of progress, then by size.
struct HeldRank: Comparable {
  /// The time after which bytes without progress count as stuck.
  static let patience = TimeAmount.seconds(2)

  let isStuck: Bool
  let bytes: Int

  init(bytes: Int, movedAt: NIODeadline, now: NIODeadline) {
    isStuck = bytes > 0 && movedAt + Self.patience < now
    self.bytes = bytes
  }

  static func < (left: HeldRank, right: HeldRank) -> Bool {
    left.isStuck == right.isStuck ? left.bytes < right.bytes : right.isStuck
  }
}
