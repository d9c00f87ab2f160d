import BywayLibC
import BywayPrimitives
import NIOCore
import Synchronization

/// The thread of a medium whose close can block in the kernel for as long as the far end wants: an ISO-TP socket first sends its message.
/// Safe on any thread.
///
/// A signal ends such a wait. It does not if the process has begun to exit with the medium open; then even SIGKILL does not. So these media
/// are closed before the process exits.
final class MediumThread: Sendable {
  private enum Phase {
    case starting
    case running(pthread_t)
    case closing(pthread_t, since: UInt64)
    case over
  }

  /// The time for a close without a signal, in nanoseconds.
  private static let patience: UInt64 = 1_000_000_000
  /// The most time that the media may delay the exit of the process.
  private static let exitPatience: UInt64 = 3_000_000_000
  /// The time between two signals to one thread, which may have looked just before the signal, and slept after it.
  private static let interval = TimeAmount.milliseconds(20)
  private static let all = Mutex<[ObjectIdentifier: MediumThread]>([:])

  /// Installs what this process needs for such threads, once.
  private static let preparation: Void = {
    // The signal only has to interrupt. A handler of the program stays.
    if let other = signal(SIGURG, { _ in }) { signal(SIGURG, other) }
    atexit { MediumThread.finish(MediumThread.all.withLock { Array($0.values) }) }
  }()

  private let phase = Mutex(Phase.starting)
  private let finishes = Atomic(false)

  init() {
    Self.preparation
  }

  /// Whether the thread has to close its medium.
  var isFinishing: Bool { finishes.load(ordering: .relaxed) }

  var isOver: Bool {
    phase.withLock { if case .over = $0 { true } else { false } }
  }

  // MARK: Calls of the thread

  func begin() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGURG)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    phase.withLock { $0 = .running(pthread_self()) }
    Self.all.withLock { $0[ObjectIdentifier(self)] = self }
  }

  /// Notes that the medium is about to be closed.
  func willClose() {
    phase.withLock { $0 = .closing(pthread_self(), since: MonotonicClock.now) }
  }

  func end() {
    phase.withLock { $0 = .over }
    _ = Self.all.withLock { $0.removeValue(forKey: ObjectIdentifier(self)) }
  }

  // MARK: Calls of others

  /// Lets the threads close their media, and waits for that.
  static func finish(_ threads: [MediumThread]) {
    let deadline = MonotonicClock.now + exitPatience
    for thread in threads { thread.finishes.store(true, ordering: .relaxed) }
    var left = threads
    while !left.isEmpty, MonotonicClock.now < deadline {
      left.removeAll { !$0.interrupt() }
      poll(nil, 0, CInt(interval.nanoseconds / 1_000_000))
    }
  }

  /// Ends the close of the medium, if it blocks for long.
  func interruptUntilOver(on eventLoop: any EventLoop) {
    guard interrupt() else { return }
    eventLoop.scheduleTask(in: Self.interval) { self.interruptUntilOver(on: eventLoop) }
  }

  /// Interrupts the thread where it has to hurry.
  /// - Returns: `false` if it is over.
  private func interrupt() -> Bool {
    phase.withLock { phase in
      switch phase {
      case .starting: break
      // It does not end before it has the lock.
      case .running(let thread): if isFinishing { pthread_kill(thread, SIGURG) }
      case .closing(let thread, let since):
        if MonotonicClock.now > since + Self.patience { pthread_kill(thread, SIGURG) }
      case .over: return false
      }
      return true
    }
  }
}
