import BywayHTTPWire
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

@testable import Byway

@Suite("Memory budget") struct MemoryBudgetTests {
  private static let step = MemoryAccount.step

  /// An account with exchanges of given sizes, which releases the last one first.
  private final class Holder {
    let account: MemoryAccount
    private(set) var exchanges: [Int] = []

    init(_ budget: MemoryBudget, on eventLoop: EmbeddedEventLoop) {
      account = MemoryAccount(budget, on: eventLoop)
      account.open { [unowned self] in
        guard let bytes = exchanges.popLast() else { return false }
        account.change(by: -bytes)
        return true
      }
    }

    func begin(_ bytes: Int) {
      exchanges.append(bytes)
      account.change(by: bytes)
    }
  }

  @Test("an account reports its bytes from 32 KiB on, and zero when it holds none")
  func steps() {
    let budget = MemoryBudget(limit: 1 << 20)
    let holder = Holder(budget, on: EmbeddedEventLoop())
    holder.account.change(by: Self.step)
    #expect(budget.held == 0)
    holder.account.change(by: 1)
    #expect(budget.held == Self.step + 1)
    holder.account.change(by: 100)
    #expect(budget.held == Self.step + 1)
    holder.account.change(by: Self.step)
    #expect(budget.held == 2 * Self.step + 101)
    holder.account.change(by: -Self.step)
    #expect(budget.held == 2 * Self.step + 101)
    holder.account.change(by: -200)
    #expect(budget.held == Self.step - 99)
    holder.account.change(by: 99 - Self.step)
    #expect(budget.held == 0)
  }

  @Test("a closed account holds nothing, and counts nothing more")
  func closed() {
    let budget = MemoryBudget(limit: 1 << 20)
    let holder = Holder(budget, on: EmbeddedEventLoop())
    holder.begin(100_000)
    #expect(budget.held == 100_000)
    #expect(budget.fairShare == 3 << 18)
    holder.account.close()
    #expect(budget.held == 0)
    holder.account.change(by: 100_000)
    #expect(budget.held == 0)
    let others = (0..<2).map { _ in Holder(budget, on: EmbeddedEventLoop()) }
    for other in others { other.begin(40_000) }
    #expect(budget.fairShare == 3 << 17)
  }

  @Test("beyond the limit, exchanges of the largest holder are ended one after the other")
  func largest() {
    let eventLoop = EmbeddedEventLoop()
    let budget = MemoryBudget(limit: 1_000_000)
    let small = Holder(budget, on: eventLoop)
    let large = Holder(budget, on: eventLoop)
    small.begin(200_000)
    for _ in 0..<8 { large.begin(100_000) }
    eventLoop.run()
    #expect(large.exchanges.count == 8 && budget.refused == 0)
    large.begin(250_000)
    // The budget does not call back the account that allocates.
    #expect(large.exchanges.count == 9)
    eventLoop.run()
    #expect(large.exchanges.count == 8 && small.exchanges.count == 1)
    #expect(budget.held == 1_000_000 && budget.refused == 1)
    small.begin(150_000)
    eventLoop.run()
    #expect(large.exchanges.count == 6 && small.exchanges.count == 2)
    #expect(budget.held == 950_000 && budget.refused == 3)
  }

  @Test("a holder without anything to release is asked once, and then others are asked")
  func nothingToGive() {
    let eventLoop = EmbeddedEventLoop()
    let budget = MemoryBudget(limit: 100_000)
    let asked = Atomic(0)
    let empty = MemoryAccount(budget, on: eventLoop)
    empty.open {
      asked.add(1, ordering: .relaxed)
      return false
    }
    empty.change(by: 150_000)
    eventLoop.run()
    #expect(asked.load(ordering: .relaxed) == 1 && budget.refused == 0)
    empty.close()
    let holder = Holder(budget, on: eventLoop)
    holder.begin(150_000)
    eventLoop.run()
    #expect(holder.exchanges.isEmpty && budget.held == 0)
  }

  @Test("beyond the limit, bytes that have not moved for two seconds are released before any others")
  func stuck() {
    let now = NIODeadline.uptimeNanoseconds(0) + .seconds(100)
    let moving = HeldRank(bytes: 4 << 20, movedAt: now - .seconds(1), now: now)
    let stuck = HeldRank(bytes: 1 << 16, movedAt: now - .seconds(3), now: now)
    let larger = HeldRank(bytes: 1 << 17, movedAt: now - .seconds(9), now: now)
    let nothing = HeldRank(bytes: 0, movedAt: now - .seconds(9), now: now)
    #expect([moving, stuck, larger, nothing].max() == larger)
    #expect([moving, stuck, nothing].max() == stuck)
    #expect([moving, nothing].max() == moving)
  }

  @Test("above three quarters of the budget nothing is read ahead, and holders above their share are stopped")
  func tight() {
    let budget = MemoryBudget(limit: 1_000_000)
    let lenient = ReadAhead(lending: budget)
    let small = Holder(budget, on: EmbeddedEventLoop())
    let large = Holder(budget, on: EmbeddedEventLoop())
    small.begin(100_000)
    large.begin(650_000)
    #expect(!budget.isTight && !large.account.isOverShare)
    #expect(lenient.borrow(10_000, for: .trust) == 10_000)
    #expect(lenient.borrow(10_000, for: .trust) == 10_000)
    large.begin(100_000)
    #expect(budget.isTight && large.account.isOverShare && !small.account.isOverShare)
    #expect(lenient.borrow(10_000, for: .progress) == 0)
    // The first allocation of a connection does not depend on the budget.
    #expect(ReadAhead(lending: budget).borrow(10_000, for: .trust) == 10_000)
    large.account.change(by: -400_000)
    #expect(!budget.isTight && !large.account.isOverShare)
  }

  /// A store of records of 10,000 bytes each.
  private final class Store: SpareStore {
    let budget: MemoryBudget
    private let kept = Mutex(0)

    var bytes: Int { kept.withLock { $0 } }

    init(in budget: MemoryBudget) {
      self.budget = budget
      budget.add(self)
    }

    deinit { budget.changeSpare(by: -bytes) }

    func keep(_ records: Int) {
      kept.withLock { $0 += records * 10_000 }
      budget.changeSpare(by: records * 10_000)
    }

    func release(_ bytes: Int) {
      let records = kept.withLock { kept in
        let records = min(kept / 10_000, (bytes + 9_999) / 10_000)
        kept -= records * 10_000
        return records
      }
      budget.changeSpare(by: -records * 10_000)
    }
  }

  @Test("beyond three quarters of the budget a store drops its records, before any exchange is ended")
  func store() {
    let eventLoop = EmbeddedEventLoop()
    let budget = MemoryBudget(limit: 1_000_000)
    let store = Store(in: budget)
    let holder = Holder(budget, on: eventLoop)
    store.keep(20)
    for _ in 0..<5 { holder.begin(100_000) }
    #expect(store.bytes == 200_000 && budget.held == 700_000)
    holder.begin(100_000)
    #expect(!budget.isTight && (110_000...150_000).contains(store.bytes))
    holder.begin(300_000)
    eventLoop.run()
    #expect(store.bytes == 0 && budget.held == 900_000)
    #expect(budget.refused == 0 && holder.exchanges.count == 7)
    // Nothing is kept meanwhile.
    store.keep(20)
    #expect(store.bytes == 0 && budget.held == 900_000)
    holder.account.close()
    store.keep(20)
    #expect(store.bytes == 200_000 && budget.held == 200_000)
  }

  @Test("the bytes of a store are freed with it")
  func endedStore() {
    let budget = MemoryBudget(limit: 1_000_000)
    var store: Store? = Store(in: budget)
    store?.keep(20)
    #expect(budget.held == 200_000)
    store = nil
    #expect(budget.held == 0)
    let holder = Holder(budget, on: EmbeddedEventLoop())
    holder.begin(900_000)
    #expect(budget.held == 900_000)
  }

  @Test("no exchange is ended if memory was released before its turn came")
  func inTime() {
    let eventLoop = EmbeddedEventLoop()
    let budget = MemoryBudget(limit: 1_000_000)
    let (holder, other) = (Holder(budget, on: eventLoop), Holder(budget, on: eventLoop))
    holder.begin(800_000)
    other.begin(300_000)
    other.account.close()
    eventLoop.run()
    #expect(holder.exchanges.count == 1 && budget.refused == 0)
    holder.begin(300_000)
    eventLoop.run()
    #expect(holder.exchanges.count == 1 && budget.refused == 1)
  }

  @Test("memory is returned to the system five seconds after much of it was freed")
  func trim() {
    let eventLoop = EmbeddedEventLoop()
    let trims = Counter()
    let budget = MemoryBudget(limit: 100 << 20, trim: MemoryTrim { trims.value.add(1, ordering: .relaxed) })
    let holder = Holder(budget, on: eventLoop)
    func swing(to bytes: Int) {
      holder.account.change(by: bytes)
      holder.account.change(by: -bytes)
    }
    swing(to: MemoryTrim.highMark)
    eventLoop.advanceTime(by: .seconds(10))
    #expect(trims.value.load(ordering: .relaxed) == 0)
    for _ in 0..<3 { swing(to: MemoryTrim.highMark + 1) }
    eventLoop.advanceTime(by: .seconds(4))
    #expect(trims.value.load(ordering: .relaxed) == 0)
    eventLoop.advanceTime(by: .seconds(2))
    #expect(trims.value.load(ordering: .relaxed) == 1)
    eventLoop.advanceTime(by: .seconds(20))
    holder.account.change(by: MemoryTrim.highMark + 1)
    holder.account.change(by: -MemoryTrim.highMark / 2)
    eventLoop.advanceTime(by: .seconds(20))
    #expect(trims.value.load(ordering: .relaxed) == 1)
    holder.account.change(by: -MemoryTrim.highMark / 2 - 1)
    eventLoop.advanceTime(by: .seconds(20))
    #expect(trims.value.load(ordering: .relaxed) == 2)
  }

  @Test("if memory is used again before its freed part was returned, it is returned when it is freed again")
  func trimAgain() {
    let eventLoop = EmbeddedEventLoop()
    let trims = Counter()
    let budget = MemoryBudget(limit: 100 << 20, trim: MemoryTrim { trims.value.add(1, ordering: .relaxed) })
    let holder = Holder(budget, on: eventLoop)
    holder.account.change(by: MemoryTrim.highMark + 1)
    holder.account.change(by: -MemoryTrim.highMark - 1)
    eventLoop.advanceTime(by: .seconds(1))
    holder.account.change(by: MemoryTrim.highMark + 1)
    eventLoop.advanceTime(by: .seconds(20))
    #expect(trims.value.load(ordering: .relaxed) == 1)
    holder.account.change(by: -MemoryTrim.highMark - 1)
    eventLoop.advanceTime(by: .seconds(20))
    #expect(trims.value.load(ordering: .relaxed) == 2)
  }

  private final class Counter: Sendable {
    let value = Atomic(0)
  }
}
