/// When a piece of the stream was on the wire. Times are those that ``LineLayer`` was given.
package struct Passage: Equatable, Sendable {
  /// Bytes of the stream, counted from the session's first.
  package let bytes: Range<UInt64>
  /// When the first of them began to leave, as far as the model of the wire knows.
  package let began: UInt64
  /// When the other end had them and all before them.
  package let arrived: UInt64
}

/// The pieces of the stream that the owner follows, and their progress.
///
/// A frame's copy that has arrived is its latest. So a piece has arrived when the latest copy of the last frame up to its end
/// had left, and half a round trip later; the acknowledgement only tells that it was so, and may itself have waited.
struct Passages: Sendable {
  /// Part of the stream that one frame had.
  struct Part {
    let bytes: Range<UInt64>
    /// The departure of its first copy.
    let first: Departure
    /// The departure of its latest copy.
    let latest: Departure
  }

  /// When a frame is on the wire, by the model of it.
  struct Departure {
    let begins: UInt64
    let ends: UInt64
    /// ``Pacer/adjusted`` then; `nil` where the wire was at rest, about which the model is right.
    let adjusted: Int64?

    static let unknown = Departure(begins: 0, ends: 0, adjusted: nil)
  }

  private struct Followed {
    let bytes: Range<UInt64>
    var began: UInt64?
  }

  /// The most pieces that are followed at once. Further ones are not reported.
  private static let most = 512

  private var followed = Queue<Followed>()
  /// When all was at the other end that has been acknowledged.
  private var arrived: UInt64 = 0
  /// The delay of the wire against a model that was never adjusted, measured by answers to polls.
  private var lateness: Int64 = 0

  /// Follows a piece. Pieces come in the order of the stream, and may overlap.
  mutating func follow(_ bytes: Range<UInt64>) {
    if followed.count < Self.most, !bytes.isEmpty { followed.append(Followed(bytes: bytes)) }
  }

  /// An answer has come so much later than the model, which has been adjusted by so much until then.
  mutating func measured(lateness: Int64, adjusted: Int64) {
    self.lateness = adjusted + lateness
  }

  /// The next part of the stream is acknowledged.
  /// - Parameter delay: from when a byte has left until it has arrived, in nanoseconds.
  /// - Parameter passed: gets the pieces that have passed with that.
  mutating func acknowledged(_ part: Part, delay: UInt64, into passed: inout [Passage]) {
    arrived = max(arrived, corrected(part.latest.ends, of: part.latest) + delay)
    guard !followed.isEmpty else { return }
    let began = corrected(part.first.begins, of: part.first)
    for index in 0..<followed.count {
      guard followed[index].bytes.lowerBound < part.bytes.upperBound else { break }
      if followed[index].began == nil { followed[index].began = began }
    }
    while !followed.isEmpty, followed[0].bytes.upperBound <= part.bytes.upperBound, let one = followed.popFirst() {
      passed.append(Passage(bytes: one.bytes, began: one.began ?? began, arrived: arrived))
    }
  }

  private func corrected(_ time: UInt64, of departure: Departure) -> UInt64 {
    guard let adjusted = departure.adjusted else { return time }
    return UInt64(max(Int64(time) + lateness - adjusted, 0))
  }
}
