import NIOCore

extension Body {
  /// Returns the body with a function that is called when it is read: with each chunk's size, and with `nil` at the end.
  package func measured(_ report: @escaping @Sendable (Int?) -> Void) -> Body {
    Body(
      MeasuredBody(body: self, report: report), length: length, isReplayable: isReplayable,
      trailers: { await self.trailers() })
  }
}

private struct MeasuredBody: AsyncSequence, Sendable {
  let body: Body
  let report: @Sendable (Int?) -> Void

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunks: body.makeAsyncIterator(), report: report) }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let report: @Sendable (Int?) -> Void

    mutating func next() async throws -> ByteBuffer? {
      let chunk = try await chunks.next()
      report(chunk?.readableBytes)
      return chunk
    }
  }
}
