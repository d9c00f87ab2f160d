import Byway
import NIOCore
import Synchronization

/// A body, and whether it can be sent once more: where it is not replayable by itself, its first bytes are kept as they go by.
///
/// Nobody waits for that: a reader gets each chunk as it comes. A reader that is cancelled leaves the rest to the next one.
struct KeptBody: Sendable {
  /// In the place of the one that was given.
  let body: Body
  private let bytes: KeptBytes?

  /// - Parameter limit: bytes to keep; what is longer can be read once.
  init(_ source: Body, upTo limit: Int) {
    guard !source.isReplayable else {
      body = source
      bytes = nil
      return
    }
    // Of a body that says that it is too long nothing is kept; it can still be sent as long as none of it has gone.
    let bytes = KeptBytes(source, limit: (source.length ?? 0) > limit ? 0 : limit)
    body = Body(
      KeptSequence(reader: KeptReader(bytes)), length: source.length, trailers: { await source.trailers() })
    self.bytes = bytes
  }

  /// It can be read from its beginning, at this moment.
  var isRepeatable: Bool { bytes?.isComplete ?? true }
}

private struct KeptSequence: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let reader: KeptReader

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: reader, turn: reader.bytes.begin()) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let reader: KeptReader
    let turn: Int
    var position = 0

    mutating func next() async throws -> ByteBuffer? {
      try await reader.bytes.next(turn, from: &position)
    }
  }
}

/// Whoever may still read; the last reference, dropped, lets go of the source.
private final class KeptReader: Sendable {
  let bytes: KeptBytes

  init(_ bytes: KeptBytes) {
    self.bytes = bytes
  }

  deinit {
    bytes.release()
  }
}

/// What has been read of the source, for one reader at a time: the latest.
///
/// `@unchecked Sendable`: `source` is touched by one task at a time, as `state` decides.
private final class KeptBytes: @unchecked Sendable {
  private struct State {
    var kept = ByteBuffer()
    /// More came than is kept; this first.
    var isBeyond = false
    var beyond: ByteBuffer?
    var end: Result<Void, any Error>?
    /// Who may read. The turns before are over.
    var turn = 0
    var waiter: CheckedContinuation<Void, any Error>?
    /// Reads one chunk. Not the reader itself, because a task that is cancelled cannot leave a chunk for another.
    var pull: Task<Void, Never>?

    /// What comes after so many bytes.
    mutating func step(_ turn: Int, from position: Int) throws -> Step {
      guard turn == self.turn else { throw CancellationError() }
      if position < kept.readableBytes {
        // A copy, so that what is kept need not be copied when it grows.
        return .chunk(ByteBuffer(bytes: kept.readableBytesView.dropFirst(position)))
      }
      if let chunk = beyond.take() {
        kept = ByteBuffer()
        return .chunk(chunk)
      }
      switch end {
      case .success: return .ended
      case .failure(let error): throw error
      case nil: return isBeyond ? .direct : .wait
      }
    }

    func hasMore(after position: Int) -> Bool {
      position < kept.readableBytes || beyond != nil || end != nil
    }
  }

  private enum Step {
    case chunk(ByteBuffer)
    case ended
    /// Nothing is kept any more: the reader reads by itself.
    case direct
    case wait
  }

  private let limit: Int
  private let state = Mutex(State())
  private var source: Body.AsyncIterator

  init(_ source: Body, limit: Int) {
    self.limit = limit
    self.source = source.makeAsyncIterator()
  }

  var isComplete: Bool {
    state.withLock { state in
      if case .failure = state.end { return false }
      return !state.isBeyond
    }
  }

  /// - Returns: the turn that begins. After the one that reads beyond what is kept there is none.
  func begin() -> Int {
    let (turn, waiter) = state.withLock { state in
      if state.isBeyond { return (0, nil as CheckedContinuation<Void, any Error>?) }
      state.turn += 1
      return (state.turn, state.waiter.take())
    }
    waiter?.resume(throwing: CancellationError())
    return turn
  }

  func next(_ turn: Int, from position: inout Int) async throws -> ByteBuffer? {
    while true {
      let start = position
      switch try state.withLock({ try $0.step(turn, from: start) }) {
      case .chunk(let chunk):
        position += chunk.readableBytes
        return chunk
      case .ended: return nil
      case .direct: return try await source.next()
      case .wait: try await wait(turn, after: position)
      }
    }
  }

  func release() {
    state.withLock { $0.pull }?.cancel()
  }

  /// Until something has come, or another turn has begun.
  private func wait(_ turn: Int, after position: Int) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          // Asked under the lock, so that a cancellation either sees this waiter or is seen here.
          if Task.isCancelled || state.turn != turn { return .failure(CancellationError()) }
          if state.hasMore(after: position) { return .success(()) }
          state.waiter = continuation
          if state.pull == nil { state.pull = Task { await self.pull() } }
          return nil
        }
        if let outcome { continuation.resume(with: outcome) }
      }
    } onCancel: {
      state.withLock { $0.turn == turn ? $0.waiter.take() : nil }?.resume(throwing: CancellationError())
    }
  }

  private func pull() async {
    let result: Result<ByteBuffer?, any Error>
    do { result = .success(try await source.next()) } catch { result = .failure(error) }
    let waiter = state.withLock { state in
      state.pull = nil
      switch result {
      case .success(var chunk?):
        if state.kept.readableBytes + chunk.readableBytes <= limit {
          state.kept.writeBuffer(&chunk)
        } else {
          state.isBeyond = true
          state.beyond = chunk
        }
      case .success(nil): state.end = .success(())
      case .failure(let error): state.end = .failure(error)
      }
      return state.waiter.take()
    }
    waiter?.resume()
  }
}
