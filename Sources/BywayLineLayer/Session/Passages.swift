/// The time that a range of the stream was on the wire. Times are those given to ``LineLayer``.
package struct Passage: Equatable, Sendable {
  /// The range of bytes, counted from the beginning of the session.
  package let bytes: Range<UInt64>
  /// The time at which the first byte left, as far as the model of the line knows.
  package let began: UInt64
  /// The time at which the peer had these bytes and all before them.
  package let arrived: UInt64
}

/// The ranges of the stream that the owner follows, and their progress.
///
/// If several copies of a frame were sent, the latest is the one that has arrived. So a range arrives half a round trip after the departure
/// of the latest copy of its last frame. The acknowledgement may be late, and its own time is not used.
struct Passages: Sendable {
  /// The part of the stream in one frame.
  struct Part {
    let bytes: Range<UInt64>
    /// The departure of its first copy.
    let first: Departure
    /// The departure of its latest copy.
    let latest: Departure
  }

  /// The time of a frame on the wire, by the model.
  struct Departure {
    let begins: UInt64
    let ends: UInt64
    /// The value of ``Pacer/adjusted`` at that time; `nil` if the line was idle, where the model is exact.
    let adjusted: Int64?

    static let unknown = Departure(begins: 0, ends: 0, adjusted: nil)
  }

  private struct Followed {
    let bytes: Range<UInt64>
    var began: UInt64?
  }

  /// The largest number of ranges at once. More are not reported.
  private static let most = 512

  private var followed = Queue<Followed>()
  /// The time at which all acknowledged data had arrived at the peer.
  private var arrived: UInt64 = 0
  /// The delay of the line against the model without its corrections, as measured by answers to polls.
  private var lateness: Int64 = 0

  /// Follows a range. Ranges come in the order of the stream, and may overlap.
  mutating func follow(_ bytes: Range<UInt64>) {
    if followed.count < Self.most, !bytes.isEmpty { followed.append(Followed(bytes: bytes)) }
  }

  /// Takes the lateness of an answer, and the sum of the corrections of the model until then.
  mutating func measured(lateness: Int64, adjusted: Int64) {
    self.lateness = adjusted + lateness
  }

  /// Notes that the next part of the stream is acknowledged.
  /// - Parameter delay: the time from departure to arrival in nanoseconds.
  /// - Parameter passed: receives the ranges that have now arrived.
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
