import Synchronization
import Testing

@testable import BywayDaemon

/// Reloads that are requested while others run.
@Suite("Queue of reloads", .timeLimit(.minutes(1))) struct ReloadQueueTests {
  /// Reloads that end when the test lets them.
  private final class Reloads: Sendable {
    private let begun = AsyncStream.makeStream(of: Int.self)
    private let count = Mutex(0)
    private let gates: [AsyncStream<Void>.Continuation]
    private let waits: [AsyncStream<Void>]

    init(_ count: Int) {
      let streams = (0..<count).map { _ in AsyncStream.makeStream(of: Void.self) }
      gates = streams.map(\.continuation)
      waits = streams.map(\.stream)
    }

    /// - Returns: its number, from 0.
    func reload() async -> Int {
      let number = count.withLock { count in
        defer { count += 1 }
        return count
      }
      begun.continuation.yield(number)
      for await _ in waits[number] { break }
      return number
    }

    func hasBegun(_ number: Int) async -> Bool {
      for await begun in begun.stream { return begun == number }
      return false
    }

    func end(_ number: Int) { gates[number].finish() }

    var total: Int { count.withLock { $0 } }
  }

  /// Begins the first of several reloads.
  private func begin(_ count: Int) async -> (Reloads, ReloadQueue<Int>, Task<Int, Never>) {
    let reloads = Reloads(count)
    let queue = ReloadQueue<Int>()
    let first = await queue.request { await reloads.reload() }
    #expect(await reloads.hasBegun(0))
    return (reloads, queue, first)
  }

  @Test("a reload requested during another one starts after it, and serves all requests of that time")
  func during() async {
    let (reloads, queue, first) = await begin(2)
    var later: [Task<Int, Never>] = []
    for _ in 0..<3 { later.append(await queue.request { await reloads.reload() }) }
    #expect(reloads.total == 1)
    reloads.end(0)
    #expect(await first.value == 0)
    #expect(await reloads.hasBegun(1))
    reloads.end(1)
    for task in later { #expect(await task.value == 1) }
    #expect(reloads.total == 2)
  }

  @Test("a reload requested while another one waits starts after that one")
  func duringQueued() async {
    let (reloads, queue, first) = await begin(3)
    let second = await queue.request { await reloads.reload() }
    reloads.end(0)
    #expect(await first.value == 0)
    #expect(await reloads.hasBegun(1))
    let third = await queue.request { await reloads.reload() }
    // A reload that did not wait would begin before this chain of tasks on the same executor has ended.
    for _ in 0..<100 { await Task.yield() }
    #expect(reloads.total == 2)
    reloads.end(1)
    #expect(await second.value == 1)
    #expect(await reloads.hasBegun(2))
    reloads.end(2)
    #expect(await third.value == 2)
  }

  @Test("a reload starts at once when the earlier ones have ended")
  func after() async {
    let reloads = Reloads(3)
    let queue = ReloadQueue<Int>()
    for number in 0..<3 {
      reloads.end(number)
      #expect(await queue.request { await reloads.reload() }.value == number)
    }
  }
}
