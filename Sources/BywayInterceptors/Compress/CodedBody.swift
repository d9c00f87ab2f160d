package import Byway
package import NIOCore

/// A coder that turns the bytes of one body into others, in steps that are small enough for an event loop.
package protocol BodyCoder: AnyObject {
  /// Codes the beginning of the bytes, removes it from them, and appends the result.
  func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws
  /// Appends what is held back and can be produced now, after all available bytes have been given.
  /// - Returns: Whether another call may add more.
  func flush(into result: inout ByteBuffer) throws -> Bool
  func finish(into result: inout ByteBuffer) throws
}

/// A body as a coder produces it, pulled chunk by chunk like the original.
package struct CodedBody: AsyncSequence, Sendable {
  package typealias Element = ByteBuffer

  private let body: Body
  private let makeCoder: @Sendable () -> any BodyCoder

  package init(_ body: Body, _ makeCoder: @escaping @Sendable () -> any BodyCoder) {
    self.body = body
    self.makeCoder = makeCoder
  }

  package func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(chunks: body.makeAsyncIterator(), coder: makeCoder())
  }

  package struct AsyncIterator: AsyncIteratorProtocol {
    fileprivate var chunks: Body.AsyncIterator
    fileprivate let coder: any BodyCoder
    private var rest = ByteBuffer()
    private var flushes = false
    private var isFinished = false

    fileprivate init(chunks: Body.AsyncIterator, coder: any BodyCoder) {
      self.chunks = chunks
      self.coder = coder
    }

    package mutating func next() async throws -> ByteBuffer? {
      var result = ByteBuffer()
      while result.readableBytes == 0, !isFinished {
        if flushes {
          flushes = try coder.flush(into: &result)
        } else if rest.readableBytes > 0 {
          try coder.code(&rest, into: &result)
          if rest.readableBytes == 0 { flushes = try coder.flush(into: &result) }
          // Other work of this event loop runs between two pieces of a large chunk.
          if rest.readableBytes > 0 { await Task.yield() }
        } else if let chunk = try await chunks.next() {
          rest = chunk
        } else {
          isFinished = true
          try coder.finish(into: &result)
        }
      }
      return result.readableBytes > 0 ? result : nil
    }
  }
}
