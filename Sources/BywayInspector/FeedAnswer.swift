import BywayPrimitives
import NIOCore

/// The body of an answer that is produced in pieces as the client reads it: nothing is produced for a client that has disconnected or
/// does not read yet.
///
/// It holds its slot until it is released, so that the memory for slow clients is bounded.
struct FeedAnswer: AsyncSequence, Sendable {
  /// Makes the pieces, `nil` after the last one.
  typealias Pieces = () -> ByteBuffer?

  private let slot: Slots<ObjectIdentifier>.Slot
  private let begin: @Sendable () -> Pieces

  init(_ slot: Slots<ObjectIdentifier>.Slot, _ begin: @escaping @Sendable () -> Pieces) {
    self.slot = slot
    self.begin = begin
  }

  func makeAsyncIterator() -> Iterator { Iterator(answer: self) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let answer: FeedAnswer
    private var pieces: Pieces?

    fileprivate init(answer: FeedAnswer) {
      self.answer = answer
    }

    mutating func next() async throws -> ByteBuffer? {
      // A long answer does not block others.
      await Task.yield()
      try Task.checkCancellation()
      if pieces == nil { pieces = answer.begin() }
      return pieces?()
    }
  }
}

extension FeedAnswer {
  /// Makes an answer of one piece.
  static func one(_ whole: @autoclosure @escaping () -> ByteBuffer) -> Pieces {
    var isTold = false
    return {
      if isTold { return nil }
      isTold = true
      return whole()
    }
  }

  /// The number of array elements in one piece.
  private static let batch = 200

  /// Makes a JSON object whose last member is a long array.
  /// - Parameters:
  ///   - opening: the text before the array's first element.
  ///   - ids: the exchanges. An answer holds no records, because a slow client would keep dropped ones in memory.
  ///   - text: the text of an exchange; `nil` if its record has been dropped.
  static func array(
    _ opening: String, _ ids: [Int], _ closing: String, _ text: @escaping (Int) -> String?
  ) -> Pieces {
    var next = 0
    var separator = ""
    var isClosed = false
    return {
      if isClosed { return nil }
      var piece = next == 0 ? opening : ""
      var room = batch
      while room > 0, next < ids.count {
        let element = text(ids[next])
        next += 1
        guard let element else { continue }
        piece += separator + element
        separator = ","
        room -= 1
      }
      if next == ids.count {
        piece += closing
        isClosed = true
      }
      return ByteBuffer(string: piece)
    }
  }
}
