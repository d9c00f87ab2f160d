import Byway
import NIOCore

/// A body as a transformation produces it, pulled chunk by chunk like the original.
struct TransformedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let transformation: any BodyTransformation

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), transformation: transformation)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    var transformation: any BodyTransformation
    var isFinished = false

    mutating func next() async throws -> ByteBuffer? {
      while !isFinished {
        let result: ByteBuffer
        if let chunk = try await chunks.next() {
          result = try transformation.transform(chunk)
        } else {
          isFinished = true
          result = try transformation.finish()
        }
        if result.readableBytes > 0 { return result }
      }
      return nil
    }
  }
}

extension Body {
  /// Returns the same body, rewritten as it streams; its trailers stay.
  func transformed(by transformation: any BodyTransformation) -> Body {
    Body(
      TransformedBody(body: self, transformation: transformation), isReplayable: isReplayable,
      trailers: { await trailers() })
  }
}
