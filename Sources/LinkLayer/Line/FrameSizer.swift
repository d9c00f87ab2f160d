/// How large a frame's payload should be, from the losses that were seen.
///
/// With overhead h and a chance p for each byte to spoil its frame, the goodput (L/(L+h))·(1−p)^(L+h) is largest near
/// L = √(h/p). The estimate of p begins at what makes frames of about 350 bytes: too small costs a few per cent for the
/// first kilobytes, too large would cost most of them on a bad line.
struct FrameSizer {
  static let smallest = 64

  /// Bytes that arrived or were lost, and losses, both halved from time to time.
  private var bytes: UInt64 = 6_800
  /// In halves: the estimate begins with half a loss.
  private var losses: UInt64 = 1
  private static let memory: UInt64 = 1_000_000
  private static let enoughLosses: UInt64 = 400

  mutating func note(arrivedBytes: Int, lostFrames: Int, lostBytes: Int) {
    bytes += UInt64(arrivedBytes + lostBytes)
    losses += UInt64(lostFrames * 2)
    if bytes > Self.memory || losses > Self.enoughLosses {
      bytes = max(bytes / 2, 1)
      losses = max(losses / 2, 1)
    }
  }

  /// Bytes of payload.
  var payload: Int {
    let overhead = UInt64(FrameCodec.dataOverhead)
    return max(Int(squareRoot(2 * overhead * bytes / losses)), Self.smallest)
  }

  /// Losses in a million bytes.
  var lossesPerMillionBytes: Int { Int(losses * 500_000 / bytes) }

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
