import HTTPWire
import NIOCore
import Synchronization

/// A limit for the bytes that a process holds on behalf of its peers: heads, bodies, and responses that wait for their reader.
///
/// Each served connection has a ``MemoryAccount``, which reports here in coarse steps. Near the limit, accounts above their fair share take
/// no more. Above the limit, the account with the highest rank drops one exchange after the other. An account without progress for seconds
/// goes first.
package final class MemoryBudget: Sendable, ReadAheadLender {
  /// The budget of this process.
  package static let shared = MemoryBudget()

  /// The default limit, in bytes.
  package static let usual = 64 << 20

  private struct Register {
    var accounts: [ObjectIdentifier: MemoryAccount] = [:]
    /// The deadline for an account that was asked to drop an exchange.
    var dropBy: NIODeadline?
  }

  /// The time that an event loop has for that: a blocked one must not keep others from being asked.
  private static let dropTime = TimeAmount.seconds(1)

  private let heldBytes = Atomic(0)
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
  package var isTight: Bool {
    let limit = limit
    return held > limit - limit / 4
  }

  /// The share in bytes of each registered account.
  var fairShare: Int { limit / max(1, accountCount.load(ordering: .relaxed)) }

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
      if held > limit { makeRoom() }
    } else {
      trim.fell(to: held, on: eventLoop)
    }
  }

  /// Asks one account at a time to drop an exchange, while the limit is exceeded.
  private func makeRoom() {
    let account: MemoryAccount? = register.withLock { register in
      let now = NIODeadline.now()
      if let dropBy = register.dropBy, now < dropBy { return nil }
      let largest = register.accounts.values.max { $0.rank(at: now) < $1.rank(at: now) }
      register.dropBy = largest.map { _ in now + Self.dropTime }
      return largest
    }
    guard let account else { return }
    account.eventLoop.execute {
      let hasDropped = account.dropOne()
      self.register.withLock { $0.dropBy = nil }
      // An account without an exchange to drop is asked again only when more memory is used.
      guard hasDropped else { return }
      self.dropCount.add(1, ordering: .relaxed)
      if self.held > self.limit { self.makeRoom() }
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
