import Foundation
import FoundationNetworking

/// Asks a task's delegate, on the queue that its session has for that.
///
/// Whoever waits for an answer also stops to wait when its own Swift task is cancelled: a delegate may never answer.
struct Question: Sendable {
  let session: URLSession
  let task: URLSessionTask
  /// `nil`: nobody is there to answer.
  let delegate: (any URLSessionTaskDelegate)?
  let activity: Activity

  /// `nil` without a delegate.
  func ask<Answer: Sendable>(
    _ put: @escaping @Sendable (any URLSessionTaskDelegate, @escaping @Sendable (Answer) -> Void) -> Void
  ) async throws -> Answer? {
    guard let delegate else { return nil }
    return try await wait { answer in put(delegate, answer) }
  }

  /// Tells the delegate of an `async` call of data, and returns when it has seen that.
  func show(_ data: Data, to delegate: any URLSessionDataDelegate) async throws {
    guard let task = task as? URLSessionDataTask else { return }
    try await report { [session] in delegate.urlSession(session, dataTask: task, didReceive: data) }
  }

  /// Calls a function on the delegate's queue, and returns when it has returned.
  func report(_ call: @escaping @Sendable () -> Void) async throws {
    try await wait { seen in
      call()
      seen(())
    }
  }

  /// Returns when the delegate's queue has done what it had to do up to now.
  func waitForTurn() async throws {
    try await report {}
  }

  /// Tells something that needs no answer.
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
