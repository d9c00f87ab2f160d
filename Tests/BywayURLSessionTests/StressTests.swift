import Byway
import BywayURLSession
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

/// Every form of task at once, half of them cancelled at any moment. Foundation crashes or hangs here if a protocol calls it from
/// the wrong queue, once too often, or too late.
@Suite(.timeLimit(.minutes(30))) struct StressTests {
  /// The number of tasks; BYWAY_STRESS_TASKS=100000 for a long run.
  static let total = ProcessInfo.processInfo.environment["BYWAY_STRESS_TASKS"].flatMap { Int($0) } ?? 6000
  static let workers = 100

  @Test("tasks of all kinds end once each, with half of them cancelled", arguments: [true, false])
  func mixed(cached: Bool) async throws {
    try await withRig { request in
      switch request.path {
      case "/slow":
        for _ in 0..<20 { await Task.yield() }
        return Response(status: .ok, body: Body("slow"))
      case "/chunks":
        let (body, chunks) = streamedBody()
        for _ in 0..<4 { chunks.yield(ByteBuffer(repeating: 7, count: 5000)) }
        chunks.finish()
        return Response(status: .ok, body: body)
      case "/moved": return Response(status: .found, fields: [.location: "/end"])
      default: return Response(status: .ok, body: Body(try await request.body.collect(upTo: 1 << 20)))
      }
    } _: { rig in
      let endings = Endings()
      let sessions = Sessions(
        plain: rig.session { if !cached { $0.urlCache = nil } },
        delegated: rig.session(delegate: endings) { if !cached { $0.urlCache = nil } }, endings: endings)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<Self.workers {
          group.addTask {
            // Each worker has its own generator, so that a run can be repeated as far as threads allow.
            var random = SeededRandom(seed: UInt64(worker + 1))
            for _ in 0..<(Self.total / 2 / Self.workers) { await sessions.runOne(&random) }
          }
        }
        try await group.waitForAll()
      }
      #expect(endings.surplus == 0)
    }
  }

  @Test("async calls cancelled near their end return exactly once")
  func cancelledAtTheEnd() async throws {
    try await withRig { _ in
      Response(status: .ok)
    } _: { rig in
      let session = rig.session()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<Self.workers {
          group.addTask {
            // Each worker has its own generator, so that a run can be repeated as far as threads allow.
            var random = SeededRandom(seed: UInt64(worker + 1))
            for _ in 0..<(Self.total / Self.workers) {
              let call = Task { try await session.data(from: .device()) }
              // About the time of a call while all workers make one.
              await pass(.microseconds(random.below(40_000)))
              if random.below(10) > 0 { call.cancel() }
              _ = await call.result
            }
          }
        }
        try await group.waitForAll()
      }
    }
  }
}

/// Lets time pass before a cancellation at a random moment.
func pass(_ time: Duration) async {
  // Real time: the moments of a stress test are random.
  try? await Task.sleep(for: time)
}

private struct Sessions: Sendable {
  let plain: URLSession
  let delegated: URLSession
  let endings: Endings

  /// Runs one task, and returns when it has ended.
  func runOne(_ random: inout SeededRandom) async {
    let path = ["/", "/slow", "/chunks", "/moved"][random.below(4)]
    var request = URLRequest(url: .device(path))
    let delay: Duration? = random.below(2) == 0 ? .microseconds(random.below(4) * random.below(1000)) : nil
    switch random.below(6) {
    case 0, 1:
      let sent = request
      await cancelling(after: delay) { _ = try? await plain.data(for: sent) }
    case 2:
      request.httpMethod = "PUT"
      let sent = request
      await cancelling(after: delay) { _ = try? await plain.upload(for: sent, from: Data(count: 3000)) }
    case 3, 4:
      let isSuspended = random.below(3) == 0
      await withCheckedContinuation { continuation in
        let task = plain.dataTask(with: request) { _, _, _ in continuation.resume() }
        run(task, isSuspended: isSuspended, cancelledAfter: delay)
      }
    default:
      let isSuspended = random.below(3) == 0
      let task = delegated.dataTask(with: request)
      await withCheckedContinuation { continuation in
        endings.expect(task, continuation)
        run(task, isSuspended: isSuspended, cancelledAfter: delay)
      }
    }
  }

  private func run(_ task: URLSessionTask, isSuspended: Bool, cancelledAfter delay: Duration?) {
    task.resume()
    if isSuspended {
      task.suspend()
      Task { task.resume() }
    }
    guard let delay else { return }
    Task {
      await pass(delay)
      task.cancel()
    }
  }

  private func cancelling(after delay: Duration?, _ body: @escaping @Sendable () async -> Void) async {
    let call = Task { await body() }
    if let delay {
      if delay > .zero { await pass(delay) }
      call.cancel()
    }
    await call.value
  }
}

/// A delegate that resumes the waiter for a task's end, and counts later calls.
private final class Endings: NSObject, URLSessionDataDelegate, Sendable {
  private let waiting = Mutex<[Int: CheckedContinuation<Void, Never>]>([:])
  private let unexpected = Atomic(0)

  var surplus: Int { unexpected.load(ordering: .relaxed) }

  func expect(_ task: URLSessionTask, _ continuation: CheckedContinuation<Void, Never>) {
    waiting.withLock { $0[task.taskIdentifier] = continuation }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    if waiting.withLock({ $0[dataTask.taskIdentifier] == nil }) { unexpected.add(1, ordering: .relaxed) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    let waiter = waiting.withLock { $0.removeValue(forKey: task.taskIdentifier) }
    if waiter == nil { unexpected.add(1, ordering: .relaxed) }
    waiter?.resume()
  }
}

extension SeededRandom {
  fileprivate mutating func below(_ limit: Int) -> Int { .random(in: 0..<limit, using: &self) }
}
