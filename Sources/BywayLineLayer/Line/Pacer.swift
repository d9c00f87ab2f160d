/// The pace of sending. Bytes are handed to the line no faster than it sends them, so that the queue in the driver stays short.
///
/// A model computes when the line will have sent everything. Answers to polls correct the model: if they arrive later than the model
/// allows, the line is slower or its queue is longer.
struct Pacer {
  /// The longest time of a frame on the wire, because nothing can overtake it.
  static let frame: UInt64 = 20_000_000
  /// The same on a slow line, where the wait matters more than the overhead.
  private static let slowFrame: UInt64 = 17_000_000
  private static let slow = 40_000
  private static let leastAhead: UInt64 = 4_000_000
  private static let mostAhead: UInt64 = 30_000_000
  /// The interval of measurements on a busy line. It is longer where they would cost more than 1 % of the line.
  private static let interval: UInt64 = 200_000_000
  var interval: UInt64 { max(Self.interval, time(of: 100 * FrameCodec.pollLength)) }

  /// The time of 1,024 bytes in nanoseconds, as measured and as nominal. 0 if the line is not paced.
  private var kibibyte: UInt64
  private let nominal: UInt64
  private(set) var busyUntil: UInt64 = 0
  /// The sum of all corrections of the model in nanoseconds.
  private(set) var adjusted: Int64 = 0
  /// The time of the bytes that may wait in the driver. It is enough for timers that are as late as recent ones.
  private(set) var ahead = Self.leastAhead * 2
  private var lateness: UInt64 = 2_000_000

  /// The latest times of answers on an idle line, beyond the model.
  private var rest: [Int64] = []
  /// The number of answers since the latest correction, and the least time of one.
  private var samples = 0
  private var leastExcess: Int64 = .max
  private var correctedAt: UInt64 = 0

  init(bytesPerSecond: Int?) {
    nominal = bytesPerSecond.map { 1024 * 1_000_000_000 / UInt64(max($0, 1)) } ?? 0
    kibibyte = nominal
  }

  var isPacing: Bool { nominal > 0 }

  /// The estimated rate in bytes per second.
  var rate: Int? { kibibyte == 0 ? nil : Int(1024 * 1_000_000_000 / kibibyte) }

  /// The same for reports. The clocks of both ends may differ, but a line does not exceed its nominal rate because of that.
  var carriedRate: Int? { rate.map { min($0, nominalRate) } }

  func time(of count: Int) -> UInt64 { UInt64(count) * kibibyte / 1024 }

  /// Returns the bytes that fit into a time; `nil` if the line is not paced.
  func bytes(in time: UInt64) -> Int? { kibibyte == 0 ? nil : Int(time * 1024 / kibibyte) }

  /// The time at which the next frame may be handed to the line.
  var readyAt: UInt64 { busyUntil > ahead ? busyUntil - ahead : 0 }

  /// The largest frame in bytes; `nil` if the line is not paced.
  var largestFrame: Int? {
    nominal == 0 ? nil : bytes(in: nominalRate < Self.slow ? Self.slowFrame : Self.frame)
  }

  private var nominalRate: Int { Int(1024 * 1_000_000_000 / nominal) }

  /// Takes the time at which a timer for ``readyAt`` has fired.
  mutating func woke(at now: UInt64) {
    let late = min(now - min(readyAt, now), Self.mostAhead)
    // The estimate rises quickly, but not after one late timer, and falls slowly.
    lateness = late > lateness ? lateness + (late - lateness) / 4 : lateness - (lateness - late) / 32
  }

  /// Whether the line has sent everything.
  func isAtRest(at now: UInt64) -> Bool { busyUntil <= now }

  mutating func handOver(_ count: Int, at now: UInt64) {
    guard isPacing else { return }
    busyUntil = max(busyUntil, now) + time(of: count)
    ahead = min(Self.leastAhead + 2 * lateness, Self.mostAhead)
  }

  /// Forgets the bytes that were handed to the line.
  mutating func reset(at now: UInt64) {
    busyUntil = now
    restart(at: now)
  }

  // MARK: Measurements

  /// Returns the time until so many bytes that are handed over now have left, by the model.
  func expectedWait(at now: UInt64, bytes: Int) -> UInt64 {
    (busyUntil > now ? busyUntil - now : 0) + time(of: bytes)
  }

  /// The least time of an answer on an idle line, without the time of the bytes.
  var leastRoundTrip: UInt64? { rest.min().map { UInt64(max($0, 0)) } }

  /// Returns how much later than on an idle line an answer arrived; `nil` if that is not known yet.
  ///
  /// The queue of the peer delays answers too. The comparison is with the latest answer on an idle line, because an earlier one may have
  /// been late for another reason, such as a busy machine.
  func lateness(of excess: Int64) -> Int64? { rest.last.map { max(excess - $0, 0) } }

  /// The interval of the first polls, which measure the line.
  var restInterval: UInt64 { interval / 4 }

  /// Whether to poll while the line is idle.
  var wantsRest: Bool { isPacing && rest.count < Self.fewSamples }

  /// Takes an answer to a poll that was sent while the line was idle or busy. `excess` is the time beyond the expected one, and may be
  /// negative.
  mutating func sample(excess: Int64, wasAtRest: Bool, at now: UInt64) {
    guard isPacing else { return }
    if wasAtRest || rest.count < Self.fewSamples {
      if rest.count == Self.manySamples { rest.removeFirst() }
      rest.append(excess)
    }
    leastExcess = min(leastExcess, excess)
    samples += 1
    guard samples >= Self.samplesOfCorrection else { return }
    correct(at: now)
    restart(at: now)
  }

  private static let fewSamples = 4
  private static let manySamples = 8

  /// The number of samples for a correction, of which the least counts. At ``interval``, that is one correction per second.
  private static let samplesOfCorrection = 5
  /// The limit in intervals beyond which older samples say nothing about the line.
  private static let correctionLimit: UInt64 = 20
  /// The excess in nanoseconds from which the queue is longer than in the model. Late timers cause less.
  private static let certainlyLate: Int64 = 3_000_000
  /// The advance in nanoseconds from which the line was idle. It is smaller, because only a faster line makes an answer early.
  private static let certainlyEarly: Int64 = 1_000_000
  /// The divisor that limits a correction: it lowers the rate by at most a fifth, so that a wrong one does not stop the line.
  private static let slowing: Int64 = 5
  /// The rate is raised by 1 % if the line was idle, because the length of the idle time is not known.
  private static let speedUpAfterIdling: Int64 = 100
  /// The rate is raised by 1/400 if model and line agree. If that is too fast, 3 ms of queue build up in 1.2 s, which the next measurements
  /// find (``certainlyLate``).
  private static let speedUpOnTrial: Int64 = 400
  /// The rate stays between half of the nominal one and 1/16 above it. Clocks do not differ by more.
  private static let fastest: UInt64 = 16
  private static let slowest: UInt64 = 2

  /// Delays are never negative, so the least sample is the best estimate. Half the spread of the samples is the uncertainty.
  private mutating func correct(at now: UInt64) {
    let sorted = rest.sorted()
    guard let base = sorted.first, correctedAt > 0, now > correctedAt,
      now - correctedAt < Self.correctionLimit * interval
    else { return }
    let elapsed = Int64(now - correctedAt)
    let noise = sorted[sorted.count / 2] - base
    // The queue cannot grow by more than the time that has passed.
    let queued = min(max(leastExcess - base, -elapsed), elapsed)
    if queued > noise + Self.certainlyLate {
      // The queue is longer than in the model: the line is slower.
      adjust(by: queued - noise, slowedBy: min(queued - noise, elapsed / Self.slowing), of: elapsed)
    } else if queued < -noise - Self.certainlyEarly {
      // The line was idle when the model expected it to be busy: the line is faster.
      adjust(by: queued + noise, slowedBy: -elapsed / Self.speedUpAfterIdling, of: elapsed)
    } else if queued < noise + Self.certainlyEarly {
      // The line may be faster. If it is not, its queue will grow.
      adjust(by: 0, slowedBy: -elapsed / Self.speedUpOnTrial, of: elapsed)
    }
  }

  private mutating func adjust(by queued: Int64, slowedBy change: Int64, of elapsed: Int64) {
    busyUntil = UInt64(max(Int64(busyUntil) + queued, 0))
    adjusted += queued
    // In units of 1/65,536: on a very slow line, the product of two times would overflow.
    let slower = Int64(kibibyte) + (Int64(kibibyte) * ((change << 16) / elapsed)) >> 16
    kibibyte = UInt64(min(max(slower, Int64(nominal - nominal / Self.fastest)), Int64(nominal * Self.slowest)))
  }

  private mutating func restart(at now: UInt64) {
    samples = 0
    leastExcess = .max
    correctedAt = now
  }
}
