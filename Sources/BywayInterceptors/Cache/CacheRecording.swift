import HTTPTypes
import NIOCore
import Synchronization

/// A recorder that stores a body as it passes. If it cannot be written, it is not stored; the reader does not notice.
///
/// A reader with the last byte may ask again at once, so the body is completed here before that byte is passed on.
final class CacheRecording: BodyRecorder {
  private struct State {
    var writer: (any CacheWriter)?
    var length = 0
    var isComplete = false
  }

  private let state: Mutex<State>
  private let expected: Int?
  private let limit: Int
  private let completed: @Sendable (Int) async -> Void
  private let ended: @Sendable () async -> Void

  /// - Parameters:
  ///   - expected: The body's length, if known.
  ///   - limit: The length above which nothing is kept.
  ///   - completed: Called with the number of bytes when all of them are stored.
  ///   - ended: Called when the reader has everything, which is the time for slow work.
  init(
    _ writer: any CacheWriter, expecting expected: Int?, limit: Int,
    completed: @escaping @Sendable (Int) async -> Void, ended: @escaping @Sendable () async -> Void
  ) {
    state = Mutex(State(writer: writer))
    self.expected = expected
    self.limit = limit
    self.completed = completed
    self.ended = ended
  }

  func write(_ chunk: ByteBuffer) async {
    let (writer, isLast) = state.withLock { state in
      state.length += chunk.readableBytes
      if state.length > limit { state.writer = nil }
      return (state.writer, state.length == expected)
    }
    do { try await writer?.write(chunk) } catch { cancel() }
    if isLast { await complete() }
  }

  func finish(_ trailers: HTTPFields?) async {
    await complete()
    if state.withLock({ $0.isComplete }) { await ended() }
  }

  func fail(_ error: any Error) async {
    // A reader with the last byte need not ask for the end.
    if state.withLock({ $0.isComplete }) { await ended() } else { cancel() }
  }

  private func complete() async {
    let (writer, length) = state.withLock { state in
      defer { state.writer = nil }
      return (state.writer, state.length)
    }
    guard let writer, (try? await writer.finish()) != nil else { return }
    await completed(length)
    state.withLock { $0.isComplete = true }
  }

  private func cancel() {
    state.withLock { $0.writer = nil }
  }
}
