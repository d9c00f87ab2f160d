/// The best payload of a frame, computed from the results of earlier frames.
///
/// With overhead h and a chance p that a byte damages its frame, the goodput (L/(L+h))·(1−p)^(L+h) is largest where L·(L+h) = h/p. The
/// first estimate of p is high, so the first frames are small and arrive on a bad line too. On a good line, frames grow with the square
/// root of the bytes that have arrived; that costs some hundred bytes once.
struct FrameSizer {
  /// The results of frames: arrived or lost.
  struct Trials {
    private(set) var arrived = 0
    private(set) var lost = 0
    private(set) var arrivedBytes = 0
    private(set) var lostBytes = 0
    private let overhead: Int

    init(overhead: Int = FrameCodec.dataOverhead) {
      // An error in the delimiter before a frame damages the frame too.
      self.overhead = overhead + 1
    }

    mutating func noteArrival(of payload: Int) {
      arrived += 1
      arrivedBytes += payload + overhead
    }

    mutating func noteLoss(of payload: Int) {
      lost += 1
      lostBytes += payload + overhead
    }
  }

  static let smallest = Unit.size
  private let overhead: UInt64
  private var rate: ErrorRate

  init(overhead: Int = FrameCodec.dataOverhead, rate: ErrorRate = ErrorRate(halfAnErrorIn: 230)) {
    self.overhead = UInt64(overhead)
    self.rate = rate
  }

  mutating func note(_ trials: Trials) {
    guard trials.arrived + trials.lost > 0 else { return }
    let reached = trials.lost == 0 ? 0 : UInt64(trials.lost) * rate.reach(of: trials.lostBytes / trials.lost)
    rate.note(
      ErrorRate.Evidence(halfErrors: UInt64(2 * trials.lost), bytes: UInt64(trials.arrivedBytes) + reached))
  }

  /// The number of bytes in 2²⁰ that damage their frame.
  var parts: UInt64 { (rate.lasting.halfErrors << 19) / rate.lasting.bytes }
  /// The number of losses in the estimate.
  var losses: UInt64 { rate.lasting.halfErrors / 2 }

  /// The payload in bytes, as whole units.
  var payload: Int {
    let root = Int(
      (2 * overhead * rate.lasting.bytes / rate.lasting.halfErrors + overhead * overhead / 4).squareRoot)
    let best = max(root - Int(overhead) / 2, 0)
    return max((best + Unit.size / 2) / Unit.size * Unit.size, Self.smallest)
  }

  /// Returns the share of the line, in 1024ths, that the payload of frames gets. `limit` is the largest payload, and `length` returns the
  /// length of a frame on the wire.
  func share(within limit: Int, length: (Int) -> Int) -> UInt64 {
    let payload = min(payload, limit)
    let bytes = UInt64(length(payload))
    let lost = min(rate.lasting.halfErrors * bytes * 512 / rate.lasting.bytes, 1024)
    return UInt64(payload) * (1024 - lost) / max(bytes, 1)
  }
}
