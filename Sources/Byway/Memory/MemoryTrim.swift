import BywayLibC
import BywayPrimitives
import NIOCore
import Synchronization

/// Returns memory to the system after most of the held bytes were released: the C library would keep it.
final class MemoryTrim: Sendable {
  /// The states of the trimming.
  private enum State {
    static let low = 0
    static let high = 1
    static let waiting = 2
    /// More was held again before the delay has passed.
    static let waitingWhileHigh = 3
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
    guard held > Self.highMark else { return }
    switch state.load(ordering: .relaxed) {
    case State.low: change(from: State.low, to: State.high)
    case State.waiting: change(from: State.waiting, to: State.waitingWhileHigh)
    default: break
    }
  }

  func fell(to held: Int, on eventLoop: any EventLoop) {
    guard held < Self.lowMark else { return }
    switch state.load(ordering: .relaxed) {
    case State.high:
      guard change(from: State.high, to: State.waiting) else { return }
      let task = eventLoop.scheduleTask(in: Self.delay) { self.run() }
      // Fails if the loop is shut down first.
      task.futureResult.whenComplete { _ in self.waited() }
    case State.waitingWhileHigh: change(from: State.waitingWhileHigh, to: State.waiting)
    default: break
    }
  }

  /// Ends the wait. Memory that is in use now is returned to the system when it has been released.
  private func waited() {
    while !change(from: State.waiting, to: State.low), !change(from: State.waitingWhileHigh, to: State.high) {}
  }

  @discardableResult
  private func change(from before: Int, to after: Int) -> Bool {
    state.compareExchange(expected: before, desired: after, ordering: .relaxed).exchanged
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
