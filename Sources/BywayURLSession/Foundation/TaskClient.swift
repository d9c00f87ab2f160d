import Dispatch
import Foundation
import FoundationNetworking

/// The calls of a load to its task, in the only order that Foundation accepts: a response, data, one end. Calls after the task
/// has ended or was cancelled are dropped, because Foundation traps on them.
///
/// `@unchecked Sendable`: used on the task's work queue only, except for the terminal call, during which that queue waits.
final class TaskClient: @unchecked Sendable {
  private var loader: URLProtocol?
  private let task: URLSessionTask
  private let completesInline: Bool
  private var hasResponse = false

  init(_ loader: URLProtocol, task: URLSessionTask, completesInline: Bool) {
    self.loader = loader
    self.task = task
    self.completesInline = completesInline
  }

  var hasEnded: Bool { loader == nil }

  /// The protocol object while the task is alive. It cannot be cancelled between this check and the next call, because
  /// `cancel()` waits for the work queue.
  private var living: URLProtocol? {
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

  /// - Parameter prepare: called right before the end, if the task has not already ended.
  /// - Returns: whether this call ended the task.
  @discardableResult
  func finish(preparing prepare: (URLProtocol) -> Void = { _ in }) -> Bool {
    guard let loader = living, hasResponse else { return false }
    prepare(loader)
    end { client, loader in client.urlProtocolDidFinishLoading(loader) }
    return true
  }

  func fail(_ error: URLError) {
    guard living != nil else { return }
    end { client, loader in client.urlProtocol(loader, didFailWithError: error) }
  }

  /// Reports the cancellation. Foundation would make this call right after `stopLoading`, and in a way that is unsafe for the
  /// reason given at ``end(_:)``.
  func cancel() {
    let error = task.error ?? URLError(CancellationError(), at: task.originalRequest?.url)
    end { client, loader in client.urlProtocol(loader, didFailWithError: error) }
  }

  /// Makes the only terminal call, whatever the number of causes. Without a client, Foundation makes none itself.
  ///
  /// The call resumes an `async` caller immediately. If the Swift task is cancelled meanwhile, `cancel()` holds the task's lock
  /// while it waits for the work queue, and the resumption on the work queue waits for that lock (fixed in Swift 6.4). So the
  /// call is made on another thread. The work queue waits for it, because the call reads state that is only safe there. The
  /// wait is short: the reads come first, and afterwards the call may be waiting for the lock.
  private func end(_ call: @escaping (any URLProtocolClient, URLProtocol) -> Void) {
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
