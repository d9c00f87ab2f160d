import LineLayer

/// Cuts what an end says into frames, and notes what comes before each.
struct Hearing: Sendable {
  struct Run: Sendable {
    var bytes: [UInt8]
    /// Zeros since the frame before, the one that ended it left out.
    var zeros: Int
  }

  /// No frame of an end is longer, whatever its payload.
  private static let limit = 70_000

  private var partial: [UInt8] = []
  private var zeros = 0
  private var isTooLong = false

  mutating func receive(_ bytes: some Sequence<UInt8>) -> [Run] {
    var runs: [Run] = []
    for byte in bytes {
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

  /// What was begun will not be continued: the line was cut.
  mutating func reset() {
    partial = []
    isTooLong = false
  }
}

/// A frame that the end under test has said.
struct Heard: Sendable {
  var frame: Frame
  var zeros: Int
  var at: UInt64

  /// What is left once its acknowledgement has been looked at: DATA that one rode on is still to be.
  var withoutAcknowledgement: Heard? {
    guard case .data(var header, let payload) = frame, header.next != nil else { return nil }
    var rest = self
    header.next = nil
    rest.frame = .data(header, payload: payload)
    return rest
  }
}
