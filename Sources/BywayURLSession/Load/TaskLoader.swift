import Byway
import Dispatch
import Foundation
import FoundationNetworking
import NIOCore

/// The loader of a task over a link, from its first `startLoading` to its one terminal call.
///
/// An actor on the task's own work queue, on which Foundation requires every call of a protocol.
actor TaskLoader {
  private nonisolated let workQueue: WorkQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { workQueue.asUnownedSerialExecutor() }

  private let task: URLSessionTask
  private let client: TaskClient
  private let exchange: TaskExchange
  private let audience: TaskInternals.Audience
  private let collectionLimit: Int
  private let temporaryFileSlot: TemporaryFileSlot?
  private let completesInline: Bool
  private var collected = Data()
  private var download: Download?
  private let timeouts: Timeouts
  private var work: Task<Void, Never>?
  private var pause: Pause?

  /// A suspension of the task. Deliveries wait until it ends.
  private struct Pause {
    var waiter: CheckedContinuation<Void, Never>?
  }

  init(
    _ bridge: Bridge, _ request: URLRequest, _ task: URLSessionTask, _ internals: TaskInternals, _ client: TaskClient
  ) {
    self.task = task
    self.client = client
    workQueue = WorkQueue(internals.workQueue)
    let activity = ProgressClock()
    exchange = TaskExchange(bridge, task, internals, request, activity)
    audience = internals.audience
    collectionLimit = bridge.collectionLimit
    temporaryFileSlot = bridge.temporaryFileSlot
    completesInline = internals.completesInline
    timeouts = Timeouts(request, internals.session.configuration, activity)
  }

  // MARK: Calls by Foundation

  func start() {
    if work == nil {
      begin()
    } else if let ended = pause.take() {
      timeouts.activity.note()
      ended.waiter?.resume()
    }
  }

  func stop() {
    switch task.state {
    case .canceling: end { $0.cancel() }
    case .suspended where pause == nil: pause = Pause()
    // The task was suspended and resumed before the protocol was called.
    default: break
    }
  }

  private func begin() {
    guard !client.hasEnded else { return }
    if task is URLSessionDownloadTask, temporaryFileSlot == nil {
      return end { $0.fail(URLError(BywayError.downloadTask, at: self.exchange.url)) }
    }
    timeouts.start(on: workQueue.queue) { [weak self] error in
      self?.assumeIsolated { load in
        let url = load.exchange.url
        // The timeouts do not apply to a suspended task.
        if load.pause == nil { load.end { $0.fail(URLError(error, at: url)) } } else { load.timeouts.activity.note() }
      }
    }
    work = Task { await self.run() }
  }

  // MARK: From the link to the task

  private func run() async {
    do {
      let response = try await exchange.send()
      timeouts.activity.note()
      try await turn()
      guard let head = HTTPURLResponse(response.head, from: exchange.url) else {
        throw BywayError(.protocolViolation, "The response's head cannot be represented.")
      }
      client.receive(head)
      try await beginDownload(expecting: response.body.length)
      for try await chunk in response.body {
        timeouts.activity.note()
        try await turn()
        try await deliver(chunk)
      }
      try await turn()
      finish()
    } catch {
      let url = exchange.url
      end { $0.fail(URLError(error, at: url)) }
    }
  }

  private func deliver(_ chunk: ByteBuffer) async throws {
    if task is URLSessionDownloadTask {
      try await download?.append(chunk)
      return
    }
    switch audience {
    case .sessionDelegate:
      client.receive(Data(chunk.readableBytesView))
      // Foundation queues data for delegates without a limit, so the next chunk is requested when this one has been seen.
      try await exchange.question.waitForTurn()
    case .completionHandler(let delegate):
      // Foundation keeps only the last piece.
      guard collected.count + chunk.readableBytes <= collectionLimit else {
        throw BywayError(
          .tooLarge,
          "The body is larger than the \(collectionLimit) bytes that this bridge collects for a completion handler: use"
            + " a session's delegate, or BywayClient.download(_:to:).")
      }
      collected.append(contentsOf: chunk.readableBytesView)
      guard let delegate = delegate as? any URLSessionDataDelegate else { return }
      // Foundation reports the response to it, but data only with its own HTTP.
      try await exchange.question.show(Data(chunk.readableBytesView), to: delegate)
    case .nobody: break
    }
  }

  private func finish() {
    if let download = download.take() { return finish(download.file) }
    if case .completionHandler = audience, !(task is URLSessionDownloadTask) { client.receive(collected) }
    end { $0.finish() }
  }

  /// Returns when the task may be called.
  private func turn() async throws {
    if pause != nil {
      await withCheckedContinuation { pause?.waiter = $0 }
    }
    try Task.checkCancellation()
  }

  // MARK: Downloads

  /// Creates the file, unless no delegate and no handler would get it.
  private func beginDownload(expecting length: Int?) async throws {
    guard let task = task as? URLSessionDownloadTask else { return }
    let delegate: (any URLSessionDownloadDelegate)?
    switch audience {
    case .sessionDelegate:
      delegate = exchange.question.session.delegate as? any URLSessionDownloadDelegate
      guard delegate != nil else { return }
    case .completionHandler(let own): delegate = own as? any URLSessionDownloadDelegate
    case .nobody: return
    }
    download = Download(
      of: task, to: try await .create(), expecting: length, reportingTo: delegate, exchange.question)
  }

  /// Hands over the file. It exists while the delegate or the completion handler runs. An `async` caller keeps it.
  private func finish(_ file: TemporaryFile) {
    var isTaken = false
    end { client in isTaken = client.finish { self.temporaryFileSlot?.store(file.url, in: $0) } }
    guard isTaken else { return file.remove() }
    // A barrier is needed, because an app may give its session a queue that runs several calls at once.
    if !completesInline { exchange.question.session.delegateQueue.addBarrierBlock { file.remove() } }
  }

  // MARK: The end

  /// Ends the load, once. Work in progress ends silently.
  private func end(_ call: (TaskClient) -> Void) {
    // Cancel on another queue: cancelled code may wait for a work queue, as URLSession's own calls do, and this thread occupies
    // one.
    if let work = work.take() { DispatchQueue.global().async { work.cancel() } }
    timeouts.cancel()
    download.take()?.file.remove()
    call(client)
    pause.take()?.waiter?.resume()
  }
}
