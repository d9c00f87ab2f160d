import Byway
import Foundation
import FoundationNetworking
import HTTPTypes
import NIOCore
import Synchronization
import TestTools
import Testing

@testable import BywayURLSession

/// Download tasks with each kind of receiver. Tests run one at a time, because each checks the remaining files.
@Suite(.serialized, .timeLimit(.minutes(2))) struct DownloadTests {
  private static let chunks = (0..<10).map { ByteBuffer(repeating: UInt8($0), count: 1000) }
  private static let content = Data(chunks.flatMap(\.readableBytesView))

  private static let handler: Rig.Handler = { request in
    switch request.path {
    case "/moved": return Response(status: .found, fields: [.location: "/file"], body: Body("not this"))
    case "/empty": return Response(status: .ok)
    case "/missing": return Response(status: .notFound, body: Body("not here"))
    case "/breaks":
      let (body, rest) = streamedBody()
      for chunk in chunks { rest.yield(chunk) }
      rest.finish(throwing: CancellationError())
      return Response(status: .ok, body: body)
    case "/stalls":
      let (body, rest) = streamedBody()
      for chunk in chunks { rest.yield(chunk) }
      return Response(status: .ok, body: body)
    default:
      let (body, rest) = streamedBody()
      for chunk in chunks { rest.yield(chunk) }
      rest.finish()
      return Response(status: .ok, body: Body(body, length: request.path == "/long" ? nil : content.count))
    }
  }

  private func expectNothingIsLeft() async throws {
    try await until { Downloads.files.isEmpty && Downloads.openCount == 0 }
  }

  @Test("a delegate receives the progress and the file, which is removed after the call")
  func delegate() async throws {
    try await withRig(Self.handler) { rig in
      let observer = DownloadObserver()
      let access = Mutex<Int?>(nil)
      observer.onFile = { file in
        let attributes = try? FileManager.default.attributesOfItem(atPath: file.path)
        access.withLock { $0 = attributes?[.posixPermissions] as? Int }
      }
      let task = rig.session(delegate: observer).downloadTask(with: .device("/file"))
      task.resume()
      try await until { observer.isComplete }
      #expect(observer.events == ["file", "complete"])
      #expect(observer.content == Self.content)
      #expect(access.withLock { $0 } == 0o600)
      var total: Int64 = 0
      for report in observer.reports {
        total += report.count
        #expect(report.count > 0 && report.written == total && report.expected == Int64(Self.content.count))
      }
      #expect(total == Int64(Self.content.count))
      #expect(task.progress.completedUnitCount == total && task.progress.totalUnitCount == total)
      #expect(task.response?.http?.statusCode == 200)
      try await expectNothingIsLeft()
    }
  }

  @Test("a file that the delegate moves elsewhere stays there")
  func moved() async throws {
    try await withTemporaryFolder { folder in
      let place = URL(fileURLWithPath: folder + "/kept")
      try await withRig(Self.handler) { rig in
        let observer = DownloadObserver()
        observer.onFile = { try? FileManager.default.moveItem(at: $0, to: place) }
        try await rig.downloadTask("/file", for: observer)
        try await expectNothingIsLeft()
        #expect(try Data(contentsOf: place) == Self.content)
      }
    }
  }

  @Test("a delegate queue with several concurrent calls does not lose the file during the call")
  func concurrentQueue() async throws {
    try await withRig(Self.handler) { rig in
      let observer = DownloadObserver()
      let queue = BarrierQueue()
      queue.maxConcurrentOperationCount = 4
      // The file is still read when its removal is in the queue.
      observer.onFile = { _ in queue.waitForBarrier() }
      rig.session(delegate: observer, queue: queue).downloadTask(with: .device("/file")).resume()
      try await until { observer.content != nil || observer.location != nil }
      #expect(observer.content == Self.content)
      try await expectNothingIsLeft()
    }
  }

  @Test("a completion handler receives the file, which is removed after it")
  func completionHandler() async throws {
    try await withRig(Self.handler) { rig in
      let (status, content): (Int?, Data?) = await withCheckedContinuation { continuation in
        rig.session().downloadTask(with: .device("/file")) { file, response, error in
          #expect(error == nil)
          let content = file.flatMap { try? Data(contentsOf: $0) }
          continuation.resume(returning: (response?.http?.statusCode, content))
        }.resume()
      }
      #expect(status == 200 && content == Self.content)
      try await expectNothingIsLeft()
    }
  }

  @Test("an async download returns a file that the caller owns, and its delegate receives the progress")
  func asyncCall() async throws {
    try await withRig(Self.handler) { rig in
      let (observer, ofSession) = (DownloadObserver(), DownloadObserver())
      let session = rig.session(delegate: ofSession)
      let (file, response) = try await session.download(from: .device("/long"), delegate: observer)
      #expect(response.http?.statusCode == 200)
      #expect(try Data(contentsOf: file) == Self.content)
      #expect(observer.reports.last?.written == Int64(Self.content.count))
      #expect(observer.reports.allSatisfy { $0.expected == NSURLSessionTransferSizeUnknown })
      #expect(observer.events.isEmpty && ofSession.events.isEmpty && ofSession.reports.isEmpty)
      // The file would have been removed by now.
      _ = try await session.data(from: .device("/empty"))
      #expect(Downloads.files == [file.lastPathComponent])
      try FileManager.default.removeItem(at: file)
      try await expectNothingIsLeft()
    }
  }

  @Test("a download follows redirects, and saves an error page and an empty body as files")
  func kindsOfResponses() async throws {
    try await withRig(Self.handler) { rig in
      for (path, status, content) in [
        ("/moved", 200, Self.content), ("/missing", 404, Data("not here".utf8)), ("/empty", 200, Data()),
      ] {
        let (file, response) = try await rig.session().download(from: .device(path))
        #expect(response.http?.statusCode == status)
        #expect(try Data(contentsOf: file) == content)
        try FileManager.default.removeItem(at: file)
      }
      try await expectNothingIsLeft()
    }
  }

  @Test("a broken transfer is an error in every form of download, and leaves no file")
  func breaks() async throws {
    try await withRig(Self.handler) { rig in
      let observer = DownloadObserver()
      try await rig.downloadTask("/breaks", for: observer)
      #expect(observer.events == ["error"])

      let (file, error): (URL?, (any Error)?) = await withCheckedContinuation { continuation in
        rig.session().downloadTask(with: .device("/breaks")) { file, _, error in
          continuation.resume(returning: (file, error))
        }.resume()
      }
      #expect(file == nil && error is URLError)
      await #expect(throws: URLError.self) { try await rig.session().download(from: .device("/breaks")) }
      try await expectNothingIsLeft()
    }
  }

  @Test("a download that exceeds its timeout leaves no file")
  func timeout() async throws {
    try await withRig(Self.handler) { rig in
      let session = rig.session { $0.timeoutIntervalForRequest = 0.3 }
      let error = await #expect(throws: URLError.self) { try await session.download(from: .device("/stalls")) }
      #expect(error?.code == .timedOut)
      try await expectNothingIsLeft()
    }
  }

  @Test("a cancelled download leaves no file, and has no resume data in Foundation on Linux")
  func cancelled() async throws {
    try await withRig(Self.handler) { rig in
      let observer = DownloadObserver()
      let task = rig.session(delegate: observer).downloadTask(with: .device("/stalls"))
      task.resume()
      try await until { observer.reports.last?.written == Int64(Self.content.count) }
      #expect(Downloads.files.count == 1 && Downloads.openCount == 1)
      let answers = Mutex<[Data?]>([])
      task.cancel { data in answers.withLock { $0.append(data) } }
      try await until { observer.isComplete }
      #expect(answers.withLock { $0 } == [nil])
      #expect(observer.events == ["error"])
      #expect(observer.error?.code == .cancelled)
      try await expectNothingIsLeft()
    }
  }

  @Test("a suspended download continues from its position")
  func suspended() async throws {
    let (body, chunks) = streamedBody()
    try await withRig(answering: body) { rig in
      let observer = DownloadObserver()
      let task = rig.session(delegate: observer).downloadTask(with: .device())
      task.resume()
      chunks.yield(ByteBuffer(string: "one"))
      try await until { observer.reports.last?.written == 3 }
      task.suspend()
      chunks.yield(ByteBuffer(string: "two"))
      task.resume()
      chunks.finish()
      try await until { observer.isComplete }
      #expect(observer.content?.text == "onetwo")
      #expect(observer.reports.map(\.count) == [3, 3] && observer.reports.map(\.written) == [3, 6])
      try await expectNothingIsLeft()
    }
  }

  @Test("a download without a delegate completes, and creates no file")
  func nobody() async throws {
    try await withRig(Self.handler) { rig in
      // A data delegate without download methods, and no delegate.
      let observer = TaskObserver()
      for session in [rig.session(delegate: observer), rig.session()] {
        let task = session.downloadTask(with: .device("/file"))
        task.resume()
        try await until { task.state == .completed }
        #expect(Downloads.files.isEmpty)
      }
      #expect(observer.events == ["complete"])
    }
  }

  @Test("downloads cancelled at any moment end once each, and leave no file")
  func stress() async throws {
    try await withRig(Self.handler) { rig in
      let session = rig.session()
      try await withThrowingTaskGroup(of: Void.self) { group in
        for worker in 0..<20 {
          group.addTask {
            var random = SeededRandom(seed: UInt64(worker + 1))
            for _ in 0..<(StressTests.total / 200) {
              let delay = random.chance(50) ? Int.random(in: 0..<20_000, using: &random) : nil
              if Bool.random(using: &random) {
                try await Self.downloadAsync(session, cancelledAfter: delay)
              } else {
                await Self.download(session, cancelledAfter: delay)
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try await expectNothingIsLeft()
    }
  }

  /// - Parameter delay: in microseconds.
  private static func downloadAsync(_ session: URLSession, cancelledAfter delay: Int?) async throws {
    let call = Task { try await session.download(from: .device("/file")).0 }
    if let delay {
      await pass(.microseconds(delay))
      call.cancel()
    }
    guard let file = try? await call.value else { return }
    #expect(try Data(contentsOf: file) == content)
    try FileManager.default.removeItem(at: file)
  }

  private static func download(_ session: URLSession, cancelledAfter delay: Int?) async {
    await withCheckedContinuation { continuation in
      let task = session.downloadTask(with: .device("/file")) { file, _, error in
        #expect((file == nil) == (error != nil))
        if let file { #expect((try? Data(contentsOf: file)) == content) }
        continuation.resume()
      }
      task.resume()
      guard let delay else { return }
      DispatchQueue.global().asyncAfter(deadline: .now() + .microseconds(delay)) { task.cancel() }
    }
  }

  // MARK: Other versions of Foundation

  @Test("if Foundation has no place for the file, downloads fail at once with the function to use instead")
  func refused() async throws {
    try await withRig(Self.handler) { rig in
      let bridge = Bridge(rig.bridge.routes, collectionLimit: 1, gatewayFailures: .responses, temporaryFileSlot: nil)
      func session(_ delegate: (any URLSessionDelegate)? = nil) -> URLSession {
        URLSession(configuration: .byway(bridge), delegate: delegate, delegateQueue: nil)
      }
      func isClear(_ error: (any Error)?) -> Bool {
        let reason = (error as? URLError)?.userInfo[NSLocalizedFailureReasonErrorKey] as? String
        return reason?.contains("BywayClient.download(_:to:)") == true
      }
      let observer = DownloadObserver()
      session(observer).downloadTask(with: .device()).resume()
      try await until { observer.isComplete }
      #expect(isClear(observer.error))

      let error: (any Error)? = await withCheckedContinuation { continuation in
        session().downloadTask(with: .device()) { _, _, error in continuation.resume(returning: error) }.resume()
      }
      #expect(isClear(error))
      #expect(isClear(await #expect(throws: URLError.self) { try await session().download(from: .device()) }))
    }
  }

  @Test("Foundation's place for the file is found by its name and type")
  func slot() {
    #expect(TemporaryFileSlot.ofFoundation != nil)
    #expect(TemporaryFileSlot(in: WithoutProperties.self) == nil)
    #expect(TemporaryFileSlot(in: WithOtherProperties.self) == nil)
    #expect(TemporaryFileSlot(in: WithOtherKeys.self) == nil)
  }
}

private class WithoutProperties { var others: [Key: Any] = [:] }
private class WithOtherProperties { var properties: [String: Any] = [:] }
private class WithOtherKeys { var properties: [OtherKey: Any] = [:] }
private enum Key: String { case temporaryFileURL }
private enum OtherKey: String { case responseData }
