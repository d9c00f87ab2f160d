import Byway
import NIOCore

/// A body that fails after a number of bytes.
struct CutBody: AsyncSequence, Sendable {
  let body: Body
  let count: Int

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), left: count, count: count)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    var left: Int
    let count: Int

    mutating func next() async throws -> ByteBuffer? {
      guard left > 0 else {
        throw BywayError(.incompleteResponse, "The inspector has cut this response after \(count) bytes.")
      }
      guard var chunk = try await chunks.next() else { return nil }
      let piece = chunk.readSlice(length: Swift.min(left, chunk.readableBytes)) ?? chunk
      left -= piece.readableBytes
      return piece
    }
  }
}

extension Body {
  /// Cuts the body. A body that is no longer than that stays complete.
  func cut(after count: Int) -> Body {
    guard !isKnownEmpty else { return self }
    if let length, length <= count { return self }
    return Body(CutBody(body: self, count: count), length: length, trailers: { await trailers() })
  }
}
