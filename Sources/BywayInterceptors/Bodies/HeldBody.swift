package import Byway
import NIOCore

extension Body {
  /// Returns the same body, which keeps an object as long as it is read.
  package func holding(_ object: some Sendable & AnyObject) -> Body {
    if isKnownEmpty { return self }
    return Body(
      HeldBody(body: self, object: object), length: length, isReplayable: isReplayable,
      trailers: { await trailers() })
  }
}

private struct HeldBody: AsyncSequence, Sendable {
  let body: Body
  let object: any Sendable & AnyObject

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let object: any Sendable & AnyObject

    mutating func next() async throws -> ByteBuffer? { try await chunks.next() }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator(), object: object) }
}
