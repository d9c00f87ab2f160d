import Synchronization
package import Testing

/// A trait that stops fixtures at the end of each test of a suite, the newest first, also if the test fails.
package struct Cleanup: TestTrait, SuiteTrait, TestScoping {
  @TaskLocal fileprivate static var current: Endings?

  package var isRecursive: Bool { true }

  package func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
  ) async throws {
    let endings = Endings()
    do {
      try await Self.$current.withValue(endings) { try await function() }
    } catch {
      await endings.run()
      throw error
    }
    await endings.run()
  }
}

extension Trait where Self == Cleanup {
  /// Stops fixtures at the end of each test. They need no call of `stop()`.
  package static var cleansUp: Self { Cleanup() }
}

/// Work at the end of a fixture, such as stopping a server. It is done once.
package final class Ending: Sendable {
  private let work: Mutex<(@Sendable () async -> Void)?>

  /// Registers work for the end of the test, if its suite has the trait ``Cleanup``.
  package init(_ work: @escaping @Sendable () async -> Void) {
    self.work = Mutex(work)
    Cleanup.current?.add(self)
  }

  package func run() async {
    let work = work.withLock { $0.take() }
    await work?()
  }
}

/// The fixtures of a test.
private final class Endings: Sendable {
  private let all = Mutex<[Ending]>([])

  func add(_ ending: Ending) { all.withLock { $0.append(ending) } }

  func run() async {
    while let last = all.withLock({ $0.popLast() }) { await last.run() }
  }
}
