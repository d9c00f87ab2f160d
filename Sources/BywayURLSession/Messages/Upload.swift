import Byway
import Dispatch
import Foundation
import FoundationNetworking
import NIOCore
import NIOPosix
import Synchronization

/// The body of a task, read as the link takes it. Its progress is reported to the delegate.
struct Upload: Sendable {
  /// `@unchecked Sendable`: only the sender of the body reads the stream, one at a time.
  private enum Source: @unchecked Sendable {
    case nothing
    case bytes(ByteBuffer)
    case file(URL)
    /// The first stream, if it exists already. The delegate creates the others.
    case streams(first: InputStream?)
  }

  private let source: Source
  private let declaredLength: Int?
  private let question: DelegateCall

  init(_ uploaded: UploadedBody, request: URLRequest, question: DelegateCall) {
    source =
      switch uploaded {
      case .none: .nothing
      case .data(let data): .bytes(ByteBuffer(dispatchData: data))
      case .file(let file): .file(file)
      case .stream(let stream): .streams(first: stream)
      case .streamOfDelegate: .streams(first: nil)
      }
    declaredLength = request.value(forHTTPHeaderField: "Content-Length").flatMap { Int($0) }
    self.question = question
  }

  /// Whether the task has no body.
  var isEmpty: Bool {
    if case .nothing = source { true } else { false }
  }

  /// - Throws: `BywayError` if a file cannot be read.
  func body() throws -> Body {
    switch source {
    case .nothing: .empty
    case .bytes(let bytes) where bytes.readableBytes == 0: .empty
    case .bytes(let bytes): watched(Body(bytes))
    case .file(let file): watched(try Body(file: file.path))
    case .streams(let first):
      watched(
        Body(
          StreamedBody(first: first, question: question), length: declaredLength,
          isReplayable: question.delegate != nil))
    }
  }

  private func watched(_ body: Body) -> Body {
    Body(WatchedUpload(body: body, question: question), length: body.length, isReplayable: body.isReplayable)
  }
}

/// The same bytes, in pieces small enough for a progress bar.
private struct WatchedUpload: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  static let pieceSize = 64 * 1024

  let body: Body
  let question: DelegateCall

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator(), upload: self) }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let upload: WatchedUpload
    var rest = ByteBuffer()
    var sent = 0

    mutating func next() async throws -> ByteBuffer? {
      if rest.readableBytes == 0 {
        guard let chunk = try await chunks.next() else { return nil }
        rest = chunk
      }
      let length = Swift.min(rest.readableBytes, WatchedUpload.pieceSize)
      guard let piece = rest.readSlice(length: length) else { return nil }
      sent += piece.readableBytes
      upload.report(piece.readableBytes, sent)
      return piece
    }
  }

  private func report(_ count: Int, _ sent: Int) {
    question.activity.note()
    let (session, task, expected) = (question.session, question.task, body.length)
    question.tell {
      $0.urlSession(
        session, task: task, didSendBodyData: Int64(count), totalBytesSent: Int64(sent),
        totalBytesExpectedToSend: expected.map { Int64($0) } ?? NSURLSessionTransferSizeUnknown)
    }
  }
}
