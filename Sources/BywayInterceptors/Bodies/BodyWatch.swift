import Byway
import NIOCore

/// Hears what happens to a body, in order: any number of chunks, then one ending; the beginning again where the body is
/// sent again.
final class BodyWatch: Sendable {
  enum Event {
    case began
    case chunk(ByteBuffer)
    case ended
    case failed(any Error)
    /// Nobody can read it any more; also comes after the end.
    case released
  }

  let report: @Sendable (Event) -> Void

  init(_ report: @escaping @Sendable (Event) -> Void) {
    self.report = report
  }

  deinit {
    report(.released)
  }
}

extension Body {
  /// The same body, with somebody who looks on.
  func watched(by watch: BodyWatch) -> Body {
    if isKnownEmpty {
      watch.report(.ended)
      return self
    }
    return Body(
      WatchedBody(body: self, watch: watch), length: length, isReplayable: isReplayable,
      trailers: { await trailers() })
  }
}

private struct WatchedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let watch: BodyWatch

  func makeAsyncIterator() -> AsyncIterator {
    watch.report(.began)
    return AsyncIterator(chunks: body.makeAsyncIterator(), watch: watch)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let watch: BodyWatch

    mutating func next() async throws -> ByteBuffer? {
      do {
        let chunk = try await chunks.next()
        watch.report(chunk.map(BodyWatch.Event.chunk) ?? .ended)
        return chunk
      } catch {
        watch.report(.failed(error))
        throw error
      }
    }
  }
}
