import BywayLibC
import BywayPrimitives
import NIOCore
import Synchronization

/// The connections in progress, each on a thread of its own, because connecting can block in the kernel. Safe on any thread.
final class Dialing: Sendable {
  /// The thread has not returned within its deadline.
  struct Stuck: Error {}

  /// The most threads. A kernel whose Bluetooth has failed keeps each of them for ever.
  static let limit = 16
  /// The time that a thread may be late.
  private let grace: TimeAmount
  private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
  private let count = Mutex(0)

  init(
    _ startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void,
    grace: TimeAmount = .seconds(1)
  ) {
    self.startThread = startThread
    self.grace = grace
  }

  /// Opens a descriptor on a thread.
  /// - Parameter open: opens it before the deadline. Blocks.
  /// - Throws: ``Stuck``, or the error of `open`.
  func open(
    on eventLoop: any EventLoop, by deadline: NIODeadline, _ open: @escaping @Sendable () throws(SystemError) -> CInt
  ) async throws -> CInt {
    guard enter() else { throw Stuck() }
    let promise = eventLoop.makePromise(of: CInt.self)
    let outcome = Outcome(promise)
    do {
      try startThread {
        let result = Result { () throws(SystemError) in try open() }
        self.leave()
        guard let promise = outcome.take() else {
          if case .success(let descriptor) = result { close(descriptor) }
          return
        }
        promise.completeWith(result.mapError { $0 as any Error })
      }
    } catch {
      leave()
      outcome.take()?.fail(error)
    }
    let timeout = eventLoop.scheduleTask(deadline: deadline + grace) { outcome.take()?.fail(Stuck()) }
    defer { timeout.cancel() }
    return try await promise.futureResult.get()
  }

  private func enter() -> Bool {
    count.withLock { count in
      guard count < Self.limit else { return false }
      count += 1
      return true
    }
  }

  private func leave() {
    count.withLock { $0 -= 1 }
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
