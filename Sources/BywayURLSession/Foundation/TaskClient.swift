import Dispatch
import Foundation
import FoundationNetworking

/// What a load may tell its task, in the only order that Foundation bears: a response, data, one end. What comes when the
/// task has ended or was cancelled is dropped, because Foundation traps on it.
///
/// `@unchecked Sendable`: used on the task's work queue only, but for the terminal call, during which that queue waits.
final class TaskClient: @unchecked Sendable {
  private var loader: BywayURLProtocol?
  private let task: URLSessionTask
  private let completesInline: Bool
  private var hasResponse = false

  init(_ loader: BywayURLProtocol, task: URLSessionTask, completesInline: Bool) {
    self.loader = loader
    self.task = task
    self.completesInline = completesInline
  }

  var hasEnded: Bool { loader == nil }

  /// Nobody can cancel it between this answer and what is done next: `cancel()` waits for the work queue.
  private var living: BywayURLProtocol? {
    task.state == .running || task.state == .suspended ? loader : nil
  }

  func receive(_ response: HTTPURLResponse) {
    guard let loader = living, !hasResponse else { return }
    hasResponse = true
    loader.client?.urlProtocol(loader, didReceive: response, cacheStoragePolicy: .notAllowed)
  }

  func receive(_ data: Data) {
    guard let loader = living, hasResponse else { return }
    loader.client?.urlProtocol(loader, didLoad: data)
  }

  /// - Parameter prepare: called right before the end, if the task has not ended otherwise.
  /// - Returns: whether this was the end.
  @discardableResult
  func finish(preparing prepare: (BywayURLProtocol) -> Void = { _ in }) -> Bool {
    guard let loader = living, hasResponse else { return false }
    prepare(loader)
    end { client, loader in client.urlProtocolDidFinishLoading(loader) }
    return true
  }

  func fail(_ error: URLError) {
    guard living != nil else { return }
    end { client, loader in client.urlProtocol(loader, didFailWithError: error) }
  }

  /// In place of Foundation, which would make this call right after `stopLoading`, and in the same way as ``end(_:)``
  /// must not.
  func cancel() {
    let error = task.error ?? URLError(CancellationError(), at: task.originalRequest?.url)
    end { client, loader in client.urlProtocol(loader, didFailWithError: error) }
  }

  /// The only terminal call, however many causes for one there are: without a client Foundation makes none.
  ///
  /// An `async` call is resumed by it, at once. Who cancels the Swift task meanwhile holds the task's lock while it waits
  /// for the work queue in `cancel()`, and the resumption, on the work queue, waits for that lock (fixed in Swift 6.4).
  /// So it is made on another thread. The work queue waits, because the call reads what is only safe there; not for long,
  /// because what it read by then is behind it, and the lock may be what it waits for.
  private func end(_ call: @escaping (any URLProtocolClient, BywayURLProtocol) -> Void) {
    guard let loader, let client = loader.client else { return }
    loader.client = nil
    self.loader = nil
    guard completesInline else { return call(client, loader) }
    nonisolated(unsafe) let (end, ending) = (call, loader)
    let (hasBegun, hasReturned) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread.detachNewThread {
      hasBegun.signal()
      end(client, ending)
      hasReturned.signal()
    }
    _ = hasBegun.wait(timeout: .now() + .seconds(10))
    _ = hasReturned.wait(timeout: .now() + .milliseconds(20))
  }
}
