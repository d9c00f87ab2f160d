import Foundation
import FoundationNetworking

/// A call of a task's delegate, on the delegate queue of its session.
///
/// A wait for an answer also ends when the waiting Swift task is cancelled, because a delegate may never answer.
struct DelegateCall: Sendable {
  let session: URLSession
  let task: URLSessionTask
  /// The delegate; `nil` if there is none.
  let delegate: (any URLSessionTaskDelegate)?
  let activity: ProgressClock

  /// Asks a question. Returns `nil` without a delegate.
  func ask<Answer: Sendable>(
    _ put: @escaping @Sendable (any URLSessionTaskDelegate, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer? {
    guard let delegate else { return nil }
    return try await wait { answer in put(delegate, answer) }
  }

  /// Passes data to the delegate of an `async` call, and returns when it has seen the data.
  func show(_ data: Data, to delegate: any URLSessionDataDelegate) async throws {
    guard let task = task as? URLSessionDataTask else { return }
    try await report { [session] in delegate.urlSession(session, dataTask: task, didReceive: data) }
  }

  /// Calls a function on the delegate queue, and returns when it has returned.
  func report(_ call: @escaping @Sendable () -> Void) async throws {
    try await wait { seen in
      call()
      seen(())
    }
  }

  /// Returns when the delegate queue has finished its present work.
  func waitForTurn() async throws {
    try await report {}
  }

  /// Reports an event that needs no answer.
  func tell(_ report: @escaping @Sendable (any URLSessionTaskDelegate) -> Void) {
    guard let delegate else { return }
    session.delegateQueue.addOperation { report(delegate) }
  }

  private func wait<Answer: Sendable>(
    _ put: @escaping @Sendable (@escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer {
    try await activity.holding {
      let (answers, continuation) = AsyncStream.makeStream(of: Answer.self, bufferingPolicy: .bufferingOldest(1))
      session.delegateQueue.addOperation {
        put {
          continuation.yield($0)
          continuation.finish()
        }
      }
      for await answer in answers { return answer }
      throw CancellationError()
    }
  }
}
