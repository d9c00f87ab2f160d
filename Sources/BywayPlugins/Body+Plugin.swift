import Byway
import NIOCore

extension Body {
  /// Returns the same body for a plugin, which may take longer to answer while it waits for the client.
  func paced(by exchange: PluginExchange) -> Body {
    if isKnownEmpty { return self }
    return Body(
      PacedBody(body: self, exchange: exchange), length: length, isReplayable: isReplayable,
      trailers: { await trailers() })
  }
}

private struct PacedBody: AsyncSequence, Sendable {
  let body: Body
  let exchange: PluginExchange

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let exchange: PluginExchange

    mutating func next() async throws -> ByteBuffer? {
      exchange.waitBegan()
      defer { exchange.waitEnded() }
      return try await chunks.next()
    }
  }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator(), exchange: exchange) }
}
