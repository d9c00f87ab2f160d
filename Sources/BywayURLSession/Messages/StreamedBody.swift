import Byway
import Foundation
import FoundationNetworking
import NIOCore
import NIOPosix
import Synchronization

/// The body of an input stream, read on a thread that may block. Each time it is needed again, the delegate creates another
/// stream.
struct StreamedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  private static let chunkSize = 64 * 1024

  private let first: Once
  private let question: DelegateCall

  init(first: InputStream?, question: DelegateCall) {
    self.first = Once(first)
    self.question = question
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(body: self) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let body: StreamedBody
    private var stream: OpenStream?

    fileprivate init(body: StreamedBody) {
      self.body = body
    }

    mutating func next() async throws -> ByteBuffer? {
      if stream == nil { stream = OpenStream(try await body.stream()) }
      guard let stream else { return nil }
      let chunk = try await NIOThreadPool.singleton.runIfActive { try stream.read(upTo: StreamedBody.chunkSize) }
      return chunk.readableBytes > 0 ? chunk : nil
    }
  }

  private func stream() async throws -> InputStream {
    if let stream = first.take() { return stream }
    let (session, task) = (question.session, question.task)
    let answer: Made? = try await question.ask { delegate, made in
      delegate.urlSession(session, task: task) { made(Made(stream: $0)) }
    }
    if let stream = answer?.stream { return stream }
    throw URLError(
      .requestBodyStreamExhausted,
      BywayError(
        .invalidRequest,
        "The request's body is a stream, and there is none: implement urlSession(_:task:needNewBodyStream:), or send the"
          + " body from data or from a file."), at: task.originalRequest?.url)
  }
}

/// `@unchecked Sendable`: the stream is passed from the delegate to the sender.
private struct Made: @unchecked Sendable {
  let stream: InputStream?
}

/// `@unchecked Sendable`: a lock protects the stream until it is taken once.
private final class Once: @unchecked Sendable {
  private let lock = NSLock()
  private var stream: InputStream?

  init(_ stream: InputStream?) {
    self.stream = stream
  }

  func take() -> InputStream? { lock.withLock { stream.take() } }
}

/// `@unchecked Sendable`: there is one reader at a time, which waits for each answer.
private final class OpenStream: @unchecked Sendable {
  private let stream: InputStream

  init(_ stream: InputStream) {
    self.stream = stream
    stream.open()
  }

  deinit {
    stream.close()
  }

  /// Reads up to `limit` bytes; the result is empty at the end.
  func read(upTo limit: Int) throws -> ByteBuffer {
    var buffer = ByteBufferAllocator().buffer(capacity: limit)
    var hasFailed = false
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
      guard let start = bytes.baseAddress?.assumingMemoryBound(to: UInt8.self) else { return 0 }
      let count = stream.read(start, maxLength: limit)
      hasFailed = count < 0
      return Swift.max(count, 0)
    }
    // Some streams of Foundation trap if they are asked for an error without a failure.
    guard !hasFailed else {
      throw BywayError(.invalidRequest, "The request's body cannot be read.", cause: stream.streamError)
    }
    return buffer
  }
}
