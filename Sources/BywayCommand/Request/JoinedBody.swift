import Byway
import NIOCore

extension Body {
  /// Joins bodies one after another. The length is known, and the body can be sent again, if that is true of each part.
  init(joining parts: [Body]) {
    let lengths = parts.compactMap(\.length)
    self.init(
      JoinedBody(parts: parts), length: lengths.count == parts.count ? lengths.reduce(0, +) : nil,
      isReplayable: parts.allSatisfy(\.isReplayable))
  }
}

private struct JoinedBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let parts: [Body]

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: parts[...]) }

  struct AsyncIterator: AsyncIteratorProtocol {
    var rest: ArraySlice<Body>
    var current: Body.AsyncIterator?

    mutating func next() async throws -> ByteBuffer? {
      while true {
        if let chunk = try await current?.next() { return chunk }
        guard let body = rest.popFirst() else { return nil }
        current = body.makeAsyncIterator()
      }
    }
  }
}
