import BywayLibC
import BywayPrimitives
import NIOCore
import Synchronization

/// The connections in progress, each on a thread of its own, because connecting can block in the kernel. Safe on any thread.
final class ConnectThreads: Sendable {
  enum Failure: Error {
    /// A thread has not returned within its deadline.
    case stuck
    /// All threads are connecting, and each still has time.
    case busy
  }

  private struct Threads {
    var running = 0
    /// Threads whose deadline has passed.
    var overdue = 0
  }

  /// The most threads. A kernel whose Bluetooth has failed keeps each of them for ever.
  static let limit = 16
  /// The time that a thread may be late.
  private let grace: TimeAmount
  private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
  private let threads = Mutex(Threads())

  init(
    _ startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void,
    grace: TimeAmount = .seconds(1)
  ) {
    self.startThread = startThread
    self.grace = grace
  }

  /// Opens a descriptor on a thread.
  /// - Parameter open: opens it before the deadline. Blocks.
  /// - Throws: ``Failure``, or the error of `open`.
  func open(
    on eventLoop: any EventLoop, by deadline: NIODeadline, _ open: @escaping @Sendable () throws(SystemError) -> CInt
  ) async throws -> CInt {
    try enter()
    let promise = eventLoop.makePromise(of: CInt.self)
    let outcome = Outcome(promise)
    do {
      try startThread {
        let result = Result { () throws(SystemError) in try open() }
        guard let promise = outcome.take() else {
          self.leave(overdue: true)
          if case .success(let descriptor) = result { close(descriptor) }
          return
        }
        self.leave()
        promise.completeWith(result.mapError { $0 as any Error })
      }
    } catch {
      leave()
      outcome.take()?.fail(error)
    }
    let timeout = eventLoop.scheduleTask(deadline: deadline + grace) {
      guard let promise = outcome.take() else { return }
      self.threads.withLock { $0.overdue += 1 }
      promise.fail(Failure.stuck)
    }
    defer { timeout.cancel() }
    return try await promise.futureResult.get()
  }

  private func enter() throws(Failure) {
    try threads.withLock { threads throws(Failure) in
      guard threads.running < Self.limit else { throw threads.overdue > 0 ? .stuck : .busy }
      threads.running += 1
    }
  }

  private func leave(overdue: Bool = false) {
    threads.withLock {
      $0.running -= 1
      if overdue { $0.overdue -= 1 }
    }
  }

  /// The result, which the first of the caller and the thread takes. The second one gets `nil`.
  private final class Outcome: Sendable {
    private let promise: Mutex<EventLoopPromise<CInt>?>

    init(_ promise: EventLoopPromise<CInt>) {
      self.promise = Mutex(promise)
    }

    func take() -> EventLoopPromise<CInt>? { promise.withLock { $0.take() } }
  }
}
