import HTTPTypes
import NIOCore
import Synchronization

/// Writes a body down as it passes. What cannot be written is left: the reader does not notice.
final class CacheRecording: BodyRecorder {
  private struct State {
    var writer: (any CacheWriter)?
    var length = 0
  }

  private let state: Mutex<State>
  private let limit: Int
  private let finished: @Sendable (Int) async -> Void

  init(_ writer: any CacheWriter, limit: Int, finished: @escaping @Sendable (Int) async -> Void) {
    state = Mutex(State(writer: writer))
    self.limit = limit
    self.finished = finished
  }

  func write(_ chunk: ByteBuffer) async {
    let writer = state.withLock { state in
      state.length += chunk.readableBytes
      if state.length > limit { state.writer = nil }
      return state.writer
    }
    do { try await writer?.write(chunk) } catch { abandon() }
  }

  func finish(_ trailers: HTTPFields?) async {
    let (writer, length) = state.withLock { state in
      defer { state.writer = nil }
      return (state.writer, state.length)
    }
    guard let writer, (try? await writer.finish()) != nil else { return }
    await finished(length)
  }

  func fail(_ error: any Error) {
    abandon()
  }

  private func abandon() {
    state.withLock { $0.writer = nil }
  }
}
