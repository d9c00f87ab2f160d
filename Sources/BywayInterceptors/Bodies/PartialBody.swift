import Byway
import NIOCore

extension Body {
  /// Returns a body of some of its bytes, without the others.
  func part(_ range: Range<Int>) -> Body {
    Body(PartialBody(body: self, range: range), length: range.count, isReplayable: isReplayable)
  }
}

private struct PartialBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let range: Range<Int>

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), skipping: range.lowerBound, rest: range.count)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    var skipping: Int
    var rest: Int

    mutating func next() async throws -> ByteBuffer? {
      while rest > 0, var chunk = try await chunks.next() {
        let skipped = Swift.min(skipping, chunk.readableBytes)
        chunk.moveReaderIndex(forwardBy: skipped)
        skipping -= skipped
        guard let part = chunk.readSlice(length: Swift.min(rest, chunk.readableBytes)), part.readableBytes > 0 else {
          continue
        }
        rest -= part.readableBytes
        return part
      }
      return nil
    }
  }
}
