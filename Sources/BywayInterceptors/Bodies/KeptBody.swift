package import Byway
import NIOCore
import Synchronization

/// A body that may be sent once more: unless it is replayable by itself, its first bytes are kept as they pass.
///
/// Readers are not delayed: they get each chunk when it arrives. A reader that is cancelled leaves the rest to the next one.
package struct KeptBody: Sendable {
  /// The body to send in place of the given one.
  package let body: Body
  private let bytes: KeptBytes?

  /// - Parameter limit: The number of bytes to keep; a longer body can be read once.
  package init(_ source: Body, upTo limit: Int) {
    guard !source.isReplayable else {
      body = source
      bytes = nil
      return
    }
    // If a body declares that it is too long, nothing is kept. It can still be sent as long as none of it has been read.
    let bytes = KeptBytes(source, limit: (source.length ?? 0) > limit ? 0 : limit)
    body = Body(
      KeptSequence(reader: KeptReader(bytes)), length: source.length, trailers: { await source.trailers() })
    self.bytes = bytes
  }

  /// Whether it can be read from its beginning at this moment.
  package var isRepeatable: Bool { bytes?.isComplete ?? true }
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

/// The shared reference of all readers; its release stops reading from the source.
private final class KeptReader: Sendable {
  let bytes: KeptBytes

  init(_ bytes: KeptBytes) {
    self.bytes = bytes
  }

  deinit {
    bytes.release()
  }
}

/// The bytes that have been read from the source, for one reader at a time: the latest.
///
/// `@unchecked Sendable`: one task at a time uses `source`, as `state` decides.
private final class KeptBytes: @unchecked Sendable {
  private struct State {
    var kept = ByteBuffer()
    /// Whether more has arrived than is kept; `beyond` is the first chunk of that.
    var isBeyond = false
    var beyond: ByteBuffer?
    var end: Result<Void, any Error>?
    /// The reader whose turn it is. Earlier turns are over.
    var turn = 0
    var waiter: CheckedContinuation<Void, any Error>?
    /// The task that reads one chunk. A cancelled reader could not leave the chunk to another one.
    var pull: Task<Void, Never>?

    /// Returns what follows a number of bytes.
    mutating func step(_ turn: Int, from position: Int) throws -> Step {
      guard turn == self.turn else { throw CancellationError() }
      if position < kept.readableBytes {
        // A copy, so that the kept bytes need not be copied when they grow.
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
    /// A direct read from the source, as the bytes are no longer kept.
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

  /// - Returns: The turn that begins. After a turn that has read beyond the kept bytes there is no other.
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

  /// Waits until data arrives, or another turn begins.
  private func wait(_ turn: Int, after position: Int) async throws {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let outcome = state.withLock { state -> Result<Void, any Error>? in
          // Checked under the lock, so that a cancellation either finds this waiter or is found here.
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
