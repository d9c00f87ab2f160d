import Glibc
import NIOCore
import Primitives
import Synchronization

/// Returns memory to the system after most of the held bytes were released: the C library would keep it.
final class MemoryTrim: Sendable {
  /// The states of the trimming.
  private enum State {
    static let low = 0
    static let high = 1
    static let waiting = 2
  }

  /// The bytes that must have been held before, and those that may be left.
  static let highMark = 16 << 20
  static let lowMark = highMark / 4
  /// The delay before trimming: the last bytes are freed a moment later, and it limits how often a process is trimmed.
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
    // Fails if the loop is shut down first.
    task.futureResult.whenComplete { _ in self.state.store(State.low, ordering: .relaxed) }
  }

  /// Runs on a thread of its own: the C library takes milliseconds, too long for an event loop.
  private static let onThread: @Sendable () -> Void = {
    // A function of glibc that is in no header imported by Swift.
    guard let symbol = dlsym(nil, "malloc_trim") else { return }
    let trim = unsafeBitCast(symbol, to: (@convention(c) (Int) -> CInt).self)
    guard let thread = try? SystemThread.start({ _ = trim(0) }) else { return }
    pthread_detach(thread)
  }
}
