/// How large a frame's payload should be, from what became of the frames before it.
///
/// With overhead h and a chance p for each byte to spoil its frame, the goodput (L/(L+h))·(1−p)^(L+h) is largest where
/// L·(L+h) = h/p. The estimate of p begins with half a loss in so few bytes that frames are small: on a good line they grow with
/// the square root of what has arrived, which costs some hundred bytes once; on a bad one the first of them get through.
struct FrameSizer {
  /// The results of frames: arrived or lost.
  struct Trials {
    private(set) var arrived = 0
    private(set) var lost = 0
    private(set) var arrivedBytes = 0
    private(set) var lostBytes = 0
    private let overhead: Int

    init(overhead: Int = FrameCodec.dataOverhead) {
      // A frame also falls with the delimiter before it.
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

  /// Bytes that spoil their frame, in 2²⁰.
  var parts: UInt64 { (rate.lasting.halfErrors << 19) / rate.lasting.bytes }
  /// Losses that this estimate rests on.
  var losses: UInt64 { rate.lasting.halfErrors / 2 }

  /// Bytes of payload: whole units.
  var payload: Int {
    let root = Int(
      (2 * overhead * rate.lasting.bytes / rate.lasting.halfErrors + overhead * overhead / 4).squareRoot)
    let best = max(root - Int(overhead) / 2, 0)
    return max((best + Unit.size / 2) / Unit.size * Unit.size, Self.smallest)
  }

  /// Returns the share of the line, in 1024ths, that frames of at most so many bytes of payload carry. `length` gives their length on the
  /// wire.
  func share(within limit: Int, length: (Int) -> Int) -> UInt64 {
    let payload = min(payload, limit)
    let bytes = UInt64(length(payload))
    let lost = min(rate.lasting.halfErrors * bytes * 512 / rate.lasting.bytes, 1024)
    return UInt64(payload) * (1024 - lost) / max(bytes, 1)
  }
}
