import Byway
import NIOCore

extension Body {
  /// Returns the same body, which keeps an object as long as it is read.
  func holding(_ object: some Sendable & AnyObject) -> Body {
    isKnownEmpty ? self : rebuilt { HeldBody(body: self, object: object) }
  }

  /// Returns the same body for a plugin, which may take longer to answer while it waits for the client.
  func paced(by exchange: PluginExchange) -> Body {
    isKnownEmpty ? self : rebuilt { PacedBody(body: self, exchange: exchange) }
  }

  private func rebuilt<Source: AsyncSequence & Sendable>(_ make: () -> Source) -> Body
  where Source.Element == ByteBuffer {
    Body(make(), length: length, isReplayable: isReplayable, trailers: { await trailers() })
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
