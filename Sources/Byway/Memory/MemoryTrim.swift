import Glibc
import NIOCore
import Primitives
import Synchronization

/// Returns memory to the system once much of what was held has gone: the C library would keep it.
final class MemoryTrim: Sendable {
  /// Whether there is something to return.
  private enum State {
    static let low = 0
    static let high = 1
    static let waiting = 2
  }

  /// The bytes that must have been held, and those that may be left.
  static let highMark = 16 << 20
  static let lowMark = highMark / 4
  /// The time between the fall and the trimming: the last of it is freed a moment later, and no process is trimmed more often.
  static let delay = TimeAmount.seconds(5)

  private let state = Atomic(State.low)
  private let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void = MemoryTrim.onThread) {
    self.run = run
  }

  func rose(to held: Int) {
    guard held > Self.highMark, state.load(ordering: .relaxed) == State.low else { return }
    _ = state.compareExchange(expected: State.low, desired: State.high, ordering: .relaxed)
  }

  func fell(to held: Int, on eventLoop: any EventLoop) {
    guard held < Self.lowMark, state.load(ordering: .relaxed) == State.high,
      state.compareExchange(expected: State.high, desired: State.waiting, ordering: .relaxed).exchanged
    else { return }
    let task = eventLoop.scheduleTask(in: Self.delay) { self.run() }
    // A loop that ends first fails it.
    task.futureResult.whenComplete { _ in self.state.store(State.low, ordering: .relaxed) }
  }

  /// The C library takes milliseconds for it, and an event loop has none.
  private static let onThread: @Sendable () -> Void = {
    // It is glibc's own, and stands in no header that Swift imports.
    guard let symbol = dlsym(nil, "malloc_trim") else { return }
    let trim = unsafeBitCast(symbol, to: (@convention(c) (Int) -> CInt).self)
    guard let thread = try? SystemThread.start({ _ = trim(0) }) else { return }
    pthread_detach(thread)
  }
}
