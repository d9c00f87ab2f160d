import Foundation
import FoundationNetworking
import NIOCore
import Synchronization

/// The body of a download task, written to a file. Reports each piece to the delegate and to the task's progress.
final class Download: Sendable {
  let file: TemporaryFile
  private let task: URLSessionDownloadTask
  private let delegate: (any URLSessionDownloadDelegate)?
  private let question: DelegateCall
  /// The total number of bytes, if known.
  private let expected: Int64
  private let written = Atomic<Int64>(0)

  init(
    of task: URLSessionDownloadTask, to file: TemporaryFile, expecting length: Int?,
    reportingTo delegate: (any URLSessionDownloadDelegate)?, _ question: DelegateCall
  ) {
    self.task = task
    self.file = file
    self.delegate = delegate
    self.question = question
    expected = length.map { Int64($0) } ?? NSURLSessionTransferSizeUnknown
    task.progress.totalUnitCount = expected
  }

  /// Appends bytes. Returns when they are in the file and the delegate has seen the report, so that neither falls behind.
  func append(_ bytes: ByteBuffer) async throws {
    try await question.activity.holding { try await file.append(bytes) }
    let count = Int64(bytes.readableBytes)
    let total = written.add(count, ordering: .relaxed).newValue
    task.progress.completedUnitCount = total
    guard let delegate else { return }
    try await question.report { [task, expected, session = question.session] in
      delegate.urlSession(
        session, downloadTask: task, didWriteData: count, totalBytesWritten: total, totalBytesExpectedToWrite: expected)
    }
  }
}
