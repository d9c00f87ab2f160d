import BywayLineLayer

/// A splitter of the end's bytes into frames, with and without correction. It counts the zeros before each.
struct FrameSplitter: Sendable {
  struct Run: Sendable {
    var bytes: [UInt8]
    /// The zeros since the previous frame, without the one that ended it.
    var zeros: Int
    var hasCorrection = false
    /// Whether the frame is a copy of HELLO or OPEN, which belong to no session.
    var isOpening = false
  }

  /// The seal for the sync word of HELLO and OPEN.
  static let openings = SessionID(session: 0, incarnation: 0)

  /// The limit of a run in bytes. No frame is longer.
  private static let limit = 70_000

  /// Bytes that were not examined: the beginning of a frame with correction.
  private var waiting: [UInt8] = []
  private var partial: [UInt8] = []
  private var zeros = 0
  private var isTooLong = false

  /// - Parameter session: the session whose frames may have correction.
  mutating func receive(_ bytes: some Sequence<UInt8>, correcting session: SessionID?) -> [Run] {
    var runs: [Run] = []
    waiting += bytes
    while !waiting.isEmpty {
      let marked = [session, Self.openings].compactMap(\.self).first {
        waiting.starts(with: CorrectableFrame.syncBytes(of: $0).prefix(waiting.count))
      }
      if let marked, partial.isEmpty {
        guard waiting.count >= CorrectableFrame.bodyOffset else { break }
        if let length = CorrectableFrame.length(beginning: waiting) {
          guard waiting.count >= length else { break }
          runs.append(
            Run(
              bytes: Array(waiting.prefix(length)), zeros: zeros, hasCorrection: true,
              isOpening: marked == Self.openings))
          waiting.removeFirst(length)
          zeros = 0
          continue
        }
      }
      let byte = waiting.removeFirst()
      if byte != 0 {
        if partial.count < Self.limit { partial.append(byte) } else { isTooLong = true }
      } else if partial.isEmpty {
        zeros += 1
      } else {
        if !isTooLong { runs.append(Run(bytes: partial, zeros: zeros)) }
        partial = []
        zeros = 0
        isTooLong = false
      }
    }
    return runs
  }

  /// Drops an incomplete frame, because the line was cut.
  mutating func reset() {
    waiting = []
    partial = []
    isTooLong = false
  }
}

/// A frame that the end under test has sent.
struct ReceivedFrame: Sendable {
  var frame: Frame
  var zeros: Int
  /// The strength of its correction; `nil` if it has none.
  var strength: Int?
  var at: UInt64

  /// The frame without its acknowledgement, which has matched a step already. The DATA itself can match another step.
  var withoutAcknowledgement: ReceivedFrame? {
    guard case .data(var header, let payload) = frame, header.next != nil else { return nil }
    var rest = self
    header.next = nil
    rest.frame = .data(header, payload: payload)
    return rest
  }
}
