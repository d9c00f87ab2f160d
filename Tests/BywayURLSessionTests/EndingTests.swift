import Byway
import BywayGateway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import LoopbackTransport
import NIOCore
import Synchronization
import TestTools
import Testing

/// Tasks that are cancelled, suspended, too slow or refused.
@Suite(.timeLimit(.minutes(2))) struct EndingTests {
  /// Returns a handler that never responds, and reports when it is cancelled.
  private static func silent(_ stopped: @escaping @Sendable () -> Void = {}) -> Rig.Handler {
    { _ in
      try await withTaskCancellationHandler {
        try await untilCancelled()
        return Response(status: .ok)
      } onCancel: {
        stopped()
      }
    }
  }

  @Test("cancelling ends a task with one error, and the peer is notified")
  func cancelled() async throws {
    let started = Atomic(0)
    let stopped = Atomic(0)
    try await withRig { request in
      started.add(1, ordering: .relaxed)
      return try await Self.silent { stopped.add(1, ordering: .relaxed) }(request)
    } _: { rig in
      let observer = TaskObserver()
      let task = rig.session(delegate: observer).dataTask(with: .device())
      task.resume()
      try await until { started.load(ordering: .relaxed) == 1 }
      task.cancel()
      task.cancel()
      try await until { observer.isComplete }
      #expect(observer.events == ["error"])
      #expect(observer.error?.code == .cancelled)
      #expect(observer.error?.userInfo["NSErrorFailingURLStringKey"] as? String == "http://device/")
      try await until { stopped.load(ordering: .relaxed) == 1 }
    }
  }

  @Test("a task that is cancelled before it starts, or while it is suspended, ends once", arguments: [true, false])
  func cancelledBefore(_ isStarted: Bool) async throws {
    try await withRig(Self.silent()) { rig in
      let observer = TaskObserver()
      let task = rig.session(delegate: observer).dataTask(with: .device())
      if isStarted {
        task.resume()
        task.suspend()
      }
      task.cancel()
      try await until { observer.isComplete }
      task.resume()
      #expect(observer.events == ["error"])
    }
  }

  @Test("an async call whose Swift task is cancelled throws")
  func cancelledAsync() async throws {
    let started = Atomic(0)
    try await withRig { request in
      started.add(1, ordering: .relaxed)
      return try await Self.silent()(request)
    } _: { rig in
      let session = rig.session()
      let call = Task { try await session.data(from: .device()) }
      try await until { started.load(ordering: .relaxed) == 1 }
      call.cancel()
      let error = await #expect(throws: URLError.self) { try await call.value }
      #expect(error?.code == .cancelled)
    }
  }

  @Test("a cancelled task delivers nothing more, even with data in its blocked delegate queue")
  func cancelledMeanwhile() async throws {
    let (body, chunks) = streamedBody()
    try await withRig(answering: body) { rig in
      let observer = TaskObserver()
      observer.onData = { task, _ in task.cancel() }
      rig.session(delegate: observer).dataTask(with: .device()).resume()
      for _ in 0..<1000 { chunks.yield(ByteBuffer(repeating: 1, count: 1000)) }
      try await until { observer.isComplete }
      #expect(observer.events == ["response 200", "data", "error"])
      #expect(observer.data.count < 1_000_000)
    }
  }

  @Test("a suspended task delivers nothing, and continues from its position")
  func suspended() async throws {
    let (body, chunks) = streamedBody()
    let requests = Atomic(0)
    try await withRig { _ in
      requests.add(1, ordering: .relaxed)
      return Response(status: .ok, body: body)
    } _: { rig in
      let observer = TaskObserver()
      let task = rig.session(delegate: observer).dataTask(with: .device())
      task.resume()
      chunks.yield(ByteBuffer(string: "one"))
      try await until { observer.data.text == "one" }
      task.suspend()
      chunks.yield(ByteBuffer(string: "two"))
      #expect(try await !eventually(within: .milliseconds(200)) { observer.data.text != "one" })
      task.resume()
      try await until { observer.data.text == "onetwo" }
      task.suspend()
      task.resume()
      task.resume()
      chunks.finish()
      try await until { observer.isComplete }
      #expect(observer.events == ["response 200", "data", "complete"])
      #expect(requests.load(ordering: .relaxed) == 1)
    }
  }

  @Test(
    "a task times out by the request's or the configuration's limit of silence, or the resource's total limit")
  func timeouts() async throws {
    try await withRig(Self.silent()) { rig in
      var request = URLRequest(url: .device())
      request.timeoutInterval = 0.2
      let ofRequest = await #expect(throws: URLError.self) { try await rig.session().data(for: request) }
      #expect(ofRequest?.code == .timedOut)
      #expect(ofRequest?.localizedDescription.contains("0.2 s") == true)

      let idle = rig.session { $0.timeoutIntervalForRequest = 0.3 }
      let ofConfiguration = await #expect(throws: URLError.self) { try await idle.data(from: .device()) }
      #expect(ofConfiguration?.localizedDescription.contains("0.3 s") == true)

      let total = rig.session { $0.timeoutIntervalForResource = 0.4 }
      let ofResource = await #expect(throws: URLError.self) { try await total.data(from: .device()) }
      #expect(ofResource?.localizedDescription.contains("timeoutIntervalForResource") == true)
      #expect(ofResource?.failingURL == .device())
    }
  }

  @Test("a transfer in progress, one that waits for its delegate, and a suspended one do not time out")
  func noTimeout() async throws {
    // Twelve pieces, 0.75 s apart: longer than the timeout of six seconds in total, but no silence of that length.
    try await withRig { _ in
      let (body, chunks) = streamedBody()
      Task {
        for _ in 0..<12 {
          // Real time: the timeouts of URLSession have no other clock.
          try await Task.sleep(for: .milliseconds(750))
          chunks.yield(ByteBuffer(string: "."))
        }
        chunks.finish()
      }
      return Response(status: .ok, body: body)
    } _: { rig in
      @Sendable func configure(_ configuration: URLSessionConfiguration) {
        configuration.timeoutIntervalForRequest = 6
      }
      async let running = rig.session(configure).data(from: .device()).0

      let held = TaskObserver()
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 1
      rig.session(delegate: held, queue: queue, configure).dataTask(with: .device()).resume()
      let suspended = TaskObserver()
      let task = rig.session(delegate: suspended, configure).dataTask(with: .device())
      task.resume()
      try await until { !held.data.isEmpty && !suspended.data.isEmpty }
      queue.isSuspended = true
      task.suspend()
      // Until the running one has ended, which takes longer than the timeout.
      let data = try await running
      #expect(data.count == 12)
      queue.isSuspended = false
      task.resume()

      try await until { held.isComplete && suspended.isComplete }
      #expect(held.data.count == 12 && suspended.data.count == 12)
    }
  }

  @Test("a link that cannot be opened is a URLError with Byway's error underneath")
  func noLink() async throws {
    let nobody = "loopback:\(UUID())"
    var configuration = BywayClient.Configuration.defaults
    configuration.patience = .zero
    let client = try BywayClient(link: nobody, transports: [LoopbackTransport()], configuration: configuration)
    let bridge = try Bridge([Route(Rig.scope, over: client)])
    let session = URLSession(configuration: .byway(bridge))
    let error = await #expect(throws: URLError.self) { try await session.data(from: .device("/x")) }
    #expect(error?.code == .cannotConnectToHost)
    let reason = error?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
    #expect(reason?.contains(nobody) == true)
    #expect(error?.userInfo[NSLocalizedDescriptionKey] == nil)
    #expect(error?.localizedDescription == "The operation could not be completed. \(reason ?? "")")
    #expect((error as NSError?)?.localizedFailureReason == reason)
    #expect((error?.userInfo[NSUnderlyingErrorKey] as? BywayError)?.code == .linkUnavailable)
    #expect(error?.failingURL == .device("/x"))
    #expect(error?.userInfo["NSErrorFailingURLStringKey"] as? String == "http://device/x")
    await client.shutDown()
  }

  @Test("a session can be invalidated while tasks run")
  func invalidated() async throws {
    try await withRig(Self.silent()) { rig in
      let session = rig.session(delegate: TaskObserver())
      let tasks = (0..<20).map { _ in session.dataTask(with: .device()) }
      for task in tasks { task.resume() }
      session.invalidateAndCancel()
      // Whether the delegate is notified is a race in Foundation, also with its own protocols.
      try await until { tasks.allSatisfy { $0.state == .completed } }
    }
  }
}
