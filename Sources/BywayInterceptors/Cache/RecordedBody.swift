import Byway
import NIOCore
import Synchronization

/// Writes a body down as it passes. What cannot be written is left: the reader does not notice.
final class Recording: Sendable {
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

  func finish() async {
    let (writer, length) = state.withLock { state in
      defer { state.writer = nil }
      return (state.writer, state.length)
    }
    guard let writer, (try? await writer.finish()) != nil else { return }
    await finished(length)
  }

  func abandon() {
    state.withLock { $0.writer = nil }
  }
}

extension Body {
  /// The same body, written down on its way.
  func recorded(by recording: Recording) -> Body {
    Body(RecordedBody(body: self, recording: recording), length: length, trailers: { await trailers() })
  }
}

private struct RecordedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let recording: Recording

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), recording: recording)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let recording: Recording

    mutating func next() async throws -> ByteBuffer? {
      do {
        guard let chunk = try await chunks.next() else {
          await recording.finish()
          return nil
        }
        await recording.write(chunk)
        return chunk
      } catch {
        recording.abandon()
        throw error
      }
    }
  }
}
