import Foundation
import FoundationNetworking
import Synchronization

/// A delegate of download tasks. It records what Foundation reports, and reads the file while it may.
final class DownloadObserver: NSObject, URLSessionDownloadDelegate, @unchecked Sendable {
  // `@unchecked`: the hook is set before the session is used.
  var onFile: @Sendable (URL) -> Void = { _ in }

  struct Report: Equatable {
    var count: Int64
    var written: Int64
    var expected: Int64
  }

  private struct State {
    var events: [String] = []
    var reports: [Report] = []
    var content: Data?
    var location: URL?
    var error: (any Error)?
    var isComplete = false
  }
  private let state = Mutex(State())

  /// "file" and "complete" or "error", in the order in which they came.
  var events: [String] { state.withLock { $0.events } }
  var reports: [Report] { state.withLock { $0.reports } }
  var content: Data? { state.withLock { $0.content } }
  var location: URL? { state.withLock { $0.location } }
  var error: URLError? { state.withLock { $0.error as? URLError } }
  var isComplete: Bool { state.withLock { $0.isComplete } }

  func urlSession(_ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL) {
    onFile(location)
    let content = try? Data(contentsOf: location)
    state.withLock { state in
      state.events.append("file")
      (state.content, state.location) = (content, location)
    }
  }

  func urlSession(
    _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    let report = Report(count: bytesWritten, written: totalBytesWritten, expected: totalBytesExpectedToWrite)
    state.withLock { $0.reports.append(report) }
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    state.withLock { state in
      state.events.append(error == nil ? "complete" : "error")
      state.error = error
      state.isComplete = true
    }
  }
}

/// The temporary files of this process's downloads.
enum Downloads {
  static var files: [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: NSTemporaryDirectory())
    return (names ?? []).filter { $0.hasPrefix("byway-download-\(getpid())-") }
  }

  /// How many of them are open.
  static var openCount: Int {
    let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
    return (names ?? []).count {
      let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")
      return target?.contains("byway-download-") ?? false
    }
  }
}
