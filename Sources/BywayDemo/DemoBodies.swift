import BywayPrimitives
import NIOCore

/// Server-sent events: one at once, and one after each interval.
struct DemoEvents: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let every: Int
  let count: Int?

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(every: every, count: count) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let every: Int
    let count: Int?
    private var sent = 0

    fileprivate init(every: Int, count: Int?) {
      self.every = every
      self.count = count
    }

    mutating func next() async throws -> ByteBuffer? {
      if let count, sent >= count { return nil }
      if sent > 0 { try await Task.sleep(for: .milliseconds(every)) }
      sent += 1
      return ByteBuffer(string: "id: \(sent)\ndata: \(["event": .number(sent)] as JSON)\n\n")
    }
  }
}

/// A body of constant bytes with a given length. Only one chunk of it is in memory.
struct DemoBytes: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  private static let chunk = ByteBuffer(bytes: (0..<65_536).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })

  let count: Int

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: count) }

  struct AsyncIterator: AsyncIteratorProtocol {
    private var rest: Int

    fileprivate init(rest: Int) {
      self.rest = rest
    }

    mutating func next() async -> ByteBuffer? {
      guard rest > 0 else { return nil }
      let size = Swift.min(rest, DemoBytes.chunk.readableBytes)
      rest -= size
      return DemoBytes.chunk.getSlice(at: 0, length: size)
    }
  }
}
