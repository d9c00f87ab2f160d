import Byway
import NIOCore

/// A body with a limited rate, in pieces of about a tenth of a second.
struct ThrottledBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let body: Body
  let bytesPerSecond: Int
  let clock: any Clock<Duration>

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), bytesPerSecond: bytesPerSecond, clock: clock)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var chunks: Body.AsyncIterator
    let bytesPerSecond: Int
    let clock: any Clock<Duration>
    var rest = ByteBuffer()

    mutating func next() async throws -> ByteBuffer? {
      while rest.readableBytes == 0 {
        guard let chunk = try await chunks.next() else { return nil }
        rest = chunk
      }
      let count = Swift.min(rest.readableBytes, Swift.max(bytesPerSecond / 10, 1))
      try await clock.sleep(for: .seconds(count) / bytesPerSecond, tolerance: nil)
      return rest.readSlice(length: count)
    }
  }
}

extension Body {
  /// - Parameter pace: The rate in bytes per second; at least 1.
  func throttled(to pace: Int, clock: any Clock<Duration>) -> Body {
    if isKnownEmpty { return self }
    return Body(
      ThrottledBody(body: self, bytesPerSecond: Swift.max(pace, 1), clock: clock), length: length,
      isReplayable: isReplayable, trailers: { await trailers() })
  }
}
