import Byway
import NIOCore

/// An observer of the events of a body, in order: any number of chunks, then one end. The events begin again if the body is sent
/// again.
final class BodyWatch: Sendable {
  enum Event {
    case began
    case chunk(ByteBuffer)
    case ended
    case failed(any Error)
    /// No reader can read it any more. This also follows the end.
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
  /// Returns the same body with an observer.
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
