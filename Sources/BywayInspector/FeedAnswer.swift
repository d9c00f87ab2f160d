import NIOCore
import Primitives

/// The body of an answer that is made piece by piece as its reader takes it: nothing is made for who has gone, or has not come yet.
///
/// It has its seat until it is let go of, so that what waits for slow readers has a bound.
struct FeedAnswer: AsyncSequence, Sendable {
  /// Makes the pieces, `nil` after the last one.
  typealias Pieces = () -> ByteBuffer?

  private let seat: Seats.Seat
  private let begin: @Sendable () -> Pieces

  init(_ seat: Seats.Seat, _ begin: @escaping @Sendable () -> Pieces) {
    self.seat = seat
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
      // Who asks for much does not keep others from their turn.
      await Task.yield()
      try Task.checkCancellation()
      if pieces == nil { pieces = answer.begin() }
      return pieces?()
    }
  }
}

extension FeedAnswer {
  /// All of it in one piece.
  static func one(_ whole: @autoclosure @escaping () -> ByteBuffer) -> Pieces {
    var isTold = false
    return {
      if isTold { return nil }
      isTold = true
      return whole()
    }
  }

  /// Elements of an array in one go.
  private static let batch = 200

  /// An object of JSON whose last member is a long array.
  /// - Parameter opening: all before the array's first element.
  static func array<Element>(
    _ opening: String, _ elements: [Element], _ closing: String, _ text: @escaping (Element) -> String
  ) -> Pieces {
    var next = 0
    var isClosed = false
    return {
      if isClosed { return nil }
      var piece = next == 0 ? opening : ""
      for element in elements[next..<Swift.min(next + batch, elements.count)] {
        if next > 0 { piece += "," }
        piece += text(element)
        next += 1
      }
      if next == elements.count {
        piece += closing
        isClosed = true
      }
      return ByteBuffer(string: piece)
    }
  }
}
