import BywayLineEmulation

@testable import BywayLineLayer

/// A record of what was sent in each session, which finds errors in what is received.
///
/// Session and direction determine the bytes of a stream, so a byte in the wrong place is a wrong byte.
struct Ledger {
  private struct Stream {
    var taken = 0
    var received = 0
    var isFinished = false
  }

  private struct Session {
    /// The streams by sending end.
    var streams: [VirtualLink.End: Stream] = [.a: Stream(), .b: Stream()]
    var incarnation: UInt32?
    var isOverAtListener = false
  }

  private var sessions: [UInt32: Session] = [:]
  /// The first error.
  private(set) var failure: String?
  /// How often an end has reported that a session finished.
  private(set) var goodEnds = 0

  mutating func take(_ count: Int, _ session: UInt32, from end: VirtualLink.End) -> [UInt8] {
    let start = sessions[session, default: Session()].streams[end]?.taken ?? 0
    sessions[session, default: Session()].streams[end]?.taken += count
    return Self.pattern(session, end, start..<(start + count))
  }

  mutating func received(_ bytes: [UInt8], _ session: UInt32?, at end: VirtualLink.End) {
    guard let session, let stream = sessions[session]?.streams[end.other] else {
      return fail("bytes of a session in which none were sent")
    }
    let range = stream.received..<(stream.received + bytes.count)
    if bytes != Self.pattern(session, end.other, range) { fail("a wrong byte in \(range) of session \(session)") }
    if range.upperBound > stream.taken { fail("more than was sent") }
    sessions[session]?.streams[end.other]?.received = range.upperBound
  }

  mutating func listenerBegan(_ session: UInt32?, incarnation: UInt32) {
    guard let session else { return fail("a session without a name") }
    if let earlier = sessions[session, default: Session()].incarnation {
      fail("session \(session) began twice, at \(earlier) and \(incarnation)")
    }
    sessions[session, default: Session()].incarnation = incarnation
  }

  mutating func listenerEnded(_ session: UInt32?) {
    if let session { sessions[session]?.isOverAtListener = true }
  }

  mutating func finished(_ session: UInt32?, at end: VirtualLink.End) {
    guard let session, let stream = sessions[session, default: Session()].streams[end.other] else { return }
    if stream.received != stream.taken { fail("the stream ended before its last byte") }
    sessions[session, default: Session()].streams[end.other]?.isFinished = true
  }

  mutating func ended(_ session: UInt32?, at end: VirtualLink.End, _ reason: SessionEnd) {
    if end == .b { listenerEnded(session) }
    switch reason {
    case .violation, .bothDial, .echo, .version: fail("ended by \(reason)")
    case .finished, .peerRestarted, .aborted, .abortedHere, .silence, .lineLost: break
    }
    guard let session, let streams = sessions[session]?.streams, reason == .finished else { return }
    // An end that reports a good end has received everything and all of its data has arrived, except perhaps its empty last frame
    // (section 3).
    let isComplete = streams.values.allSatisfy { $0.received == $0.taken } && streams[end.other]?.isFinished == true
    if !isComplete { fail("a good end, with bytes missing: \(streams)") }
    goodEnds += 1
  }

  private mutating func fail(_ what: String) {
    if failure == nil { failure = what }
  }

  private static func pattern(_ session: UInt32, _ end: VirtualLink.End, _ range: Range<Int>) -> [UInt8] {
    let stream = UInt64(session) << 1 | (end == .a ? 1 : 0)
    let words = (range.lowerBound / 8)...(range.upperBound / 8)
    var bytes: [UInt8] = []
    bytes.reserveCapacity(words.count * 8)
    for word in words {
      var random = SplitMix64(seed: stream &* 0x1_0000_0001 &+ UInt64(word) << 20)
      withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
    }
    let start = range.lowerBound % 8
    return Array(bytes[start..<(start + range.count)])
  }
}
