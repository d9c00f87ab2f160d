import Byway
import HTTPTypes
import NIOCore
import Synchronization

/// A body whose beginning is read while its exchange is paused. Its next reader gets that part first, and then the rest.
///
/// The reading stops at a limit, with the last reference, and when the exchange continues.
final class ReadBody: Sendable {
  /// The part that has been read.
  enum Content: Sendable {
    case arriving(Int)
    case whole(ByteBuffer)
    /// The beginning: the rest cannot be held.
    case partial(Int)
  }

  /// The maximum number of bytes to read.
  static let limit = 4 << 20

  private struct State {
    var content = Content.arriving(0)
    var isStopped = false
  }

  /// The part that the reader shares with the users of the body.
  private final class Progress: Sendable {
    let state: Mutex<State>
    let share: PausedMemory.Share

    init(_ content: Content, _ share: PausedMemory.Share) {
      state = Mutex(State(content: content))
      self.share = share
    }

    var isStopped: Bool { state.withLock(\.isStopped) }

    func note(_ content: Content) {
      state.withLock { $0.content = content }
    }
  }

  /// The result of the reading.
  ///
  /// `@unchecked Sendable`: the next reader uses the iterator only after the first one has returned it.
  fileprivate struct Rest: @unchecked Sendable {
    let read: ByteBuffer
    let chunks: Body.AsyncIterator?
  }

  private let source: Body
  private let progress: Progress
  private let reader: Task<Rest, any Error>?

  /// - Parameter isRead: whether to read it at all: a stream of events has no end.
  init(_ body: Body, _ share: PausedMemory.Share, isRead: Bool = true) {
    source = body
    let isTooLong = (body.length ?? 0) > Self.limit
    guard !body.isKnownEmpty, isRead, !isTooLong else {
      progress = Progress(body.isKnownEmpty ? .whole(ByteBuffer()) : .partial(0), share)
      reader = nil
      return
    }
    let progress = Progress(.arriving(0), share)
    self.progress = progress
    reader = Task { try await Self.read(body, progress) }
  }

  deinit { reader?.cancel() }

  private static func read(_ body: Body, _ progress: Progress) async throws -> Rest {
    var chunks = body.makeAsyncIterator()
    var read = ByteBuffer()
    while !progress.isStopped {
      guard var chunk = try await chunks.next() else {
        progress.note(.whole(read))
        return Rest(read: read, chunks: nil)
      }
      let count = chunk.readableBytes
      read.writeBuffer(&chunk)
      guard read.readableBytes <= limit, progress.share.take(count) else {
        progress.note(.partial(read.readableBytes))
        break
      }
      progress.note(.arriving(read.readableBytes))
    }
    return Rest(read: read, chunks: chunks)
  }

  var content: Content { progress.state.withLock(\.content) }

  /// The number of bytes that have been read.
  var count: Int {
    switch content {
    case .arriving(let count), .partial(let count): count
    case .whole(let bytes): bytes.readableBytes
    }
  }

  /// The whole body, for its next reader.
  var body: Body {
    progress.state.withLock { $0.isStopped = true }
    // It can be read from its beginning.
    if reader == nil || source.isReplayable { return source }
    let source = source
    return Body(ContinuedBody(start: self), length: source.length, trailers: { await source.trailers() })
  }

  fileprivate func rest() async throws -> Rest {
    guard let reader else { return Rest(read: ByteBuffer(), chunks: nil) }
    return try await withTaskCancellationHandler {
      try await reader.value
    } onCancel: {
      reader.cancel()
    }
  }
}

private struct ContinuedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let start: ReadBody

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(start: start) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let start: ReadBody
    var chunks: Body.AsyncIterator?
    var isBegun = false

    mutating func next() async throws -> ByteBuffer? {
      if !isBegun {
        isBegun = true
        let rest = try await start.rest()
        chunks = rest.chunks
        if rest.read.readableBytes > 0 { return rest.read }
      }
      return try await chunks?.next()
    }
  }
}
