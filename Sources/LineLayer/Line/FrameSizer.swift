/// How large a frame's payload should be, from what became of the frames before it.
///
/// With overhead h and a chance p for each byte to spoil its frame, the goodput (L/(L+h))·(1−p)^(L+h) is largest where
/// L·(L+h) = h/p. The estimate of p begins with half a loss in so few bytes that frames are small: on a good line they grow with
/// the square root of what has arrived, which costs some hundred bytes once; on a bad one the first of them get through.
struct FrameSizer {
  /// What became of frames.
  struct Trials {
    private(set) var arrived = 0
    private(set) var lost = 0
    private(set) var arrivedBytes = 0
    private(set) var lostBytes = 0

    /// A frame also falls with the delimiter before it.
    private static let overhead = FrameCodec.dataOverhead + 1

    mutating func noteArrival(of payload: Int) {
      arrived += 1
      arrivedBytes += payload + Self.overhead
    }

    mutating func noteLoss(of payload: Int) {
      lost += 1
      lostBytes += payload + Self.overhead
    }
  }

  /// Losses, in halves, and the bytes that they are the losses of.
  private struct Evidence {
    var halfLosses: UInt64 = 0
    var bytes: UInt64 = 0

    mutating func add(_ more: Evidence) {
      halfLosses += more.halfLosses
      bytes += more.bytes
    }

    mutating func halve() {
      halfLosses = max(halfLosses / 2, 1)
      bytes = max(bytes / 2, 1)
    }
  }

  static let smallest = Unit.size
  private var lasting = Evidence(halfLosses: 1, bytes: 230)
  /// Since when there have been more losses than `lasting` explains, or fewer.
  private var worse = Evidence()
  private var better = Evidence()

  private static let memory: UInt64 = 1_000_000
  private static let enoughLosses: UInt64 = 400

  mutating func note(_ trials: Trials) {
    guard trials.arrived + trials.lost > 0 else { return }
    // A lost frame got as far as its first wrong byte: half of it where that is rare, and no further than is usual.
    let usual = 2 * lasting.bytes / lasting.halfLosses
    let reached =
      trials.lost == 0 ? 0 : UInt64(trials.lost) * min(UInt64(trials.lostBytes / trials.lost / 2), max(usual, 1))
    let evidence = Evidence(halfLosses: UInt64(2 * trials.lost), bytes: UInt64(trials.arrivedBytes) + reached)
    lasting.add(evidence)
    noticeChange(evidence)
    while lasting.bytes > Self.memory || lasting.halfLosses > Self.enoughLosses { lasting.halve() }
  }

  /// Where the line has become another, what was learnt of the earlier one is forgotten (a CUSUM test, one for each direction).
  private mutating func noticeChange(_ evidence: Evidence) {
    worse.add(evidence)
    better.add(evidence)
    let fewer = worse.bytes * lasting.halfLosses / lasting.bytes
    let more = better.bytes * lasting.halfLosses / lasting.bytes
    if worse.halfLosses >= 3 * fewer + 8 {
      lasting = worse
      while lasting.halfLosses > 6 { lasting.halve() }
    } else if more >= 3 * better.halfLosses + 20 {
      lasting = better
      lasting.halfLosses += 1
    } else {
      if worse.halfLosses <= 3 * fewer { worse = Evidence() }
      if more <= 3 * better.halfLosses { better = Evidence() }
      return
    }
    worse = Evidence()
    better = Evidence()
  }

  /// Bytes of payload: whole units.
  var payload: Int {
    let overhead = UInt64(FrameCodec.dataOverhead)
    let root = Int(squareRoot(2 * overhead * lasting.bytes / lasting.halfLosses + overhead * overhead / 4))
    let best = max(root - Int(overhead) / 2, 0)
    return max((best + Unit.size / 2) / Unit.size * Unit.size, Self.smallest)
  }

  private func squareRoot(_ value: UInt64) -> UInt64 {
    guard value > 1 else { return value }
    var guess = UInt64(1) << UInt64((65 - value.leadingZeroBitCount) / 2)
    while true {
      let better = (guess + value / guess) / 2
      if better >= guess { return guess }
      guess = better
    }
  }
}
