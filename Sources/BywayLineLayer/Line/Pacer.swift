/// Hands bytes to the line no faster than it carries them, so that what waits behind the wire stays short.
///
/// A model says when the wire will have sent what it was given. Polls compare it with reality: where answers come later
/// than the model allows, the wire's clock is slower than it should be, or its queue longer.
struct Pacer {
  /// The longest time that a frame may take, since nothing overtakes it.
  static let frame: UInt64 = 20_000_000
  /// On a slow line the wait matters more than the overhead.
  private static let slowFrame: UInt64 = 17_000_000
  private static let slow = 40_000
  private static let leastAhead: UInt64 = 4_000_000
  private static let mostAhead: UInt64 = 30_000_000
  /// How often a busy line is compared with the model; less often where that would cost more than a hundredth of it.
  private static let interval: UInt64 = 200_000_000
  var interval: UInt64 { max(Self.interval, time(of: 100 * FrameCodec.pollLength)) }

  /// Nanoseconds for 1,024 bytes, now and by the line's name. 0 where the line is not paced.
  private var kibibyte: UInt64
  private let nominal: UInt64
  private(set) var busyUntil: UInt64 = 0
  /// Nanoseconds by which that was put later so far, because answers were late.
  private(set) var adjusted: Int64 = 0
  /// Bytes that may wait behind the wire, as time: enough for timers as late as they have lately been.
  private(set) var ahead = Self.leastAhead * 2
  private var lateness: UInt64 = 2_000_000

  /// The times of answers beyond the model, the latest ones on a line at rest.
  private var rest: [Int64] = []
  /// The least that an answer took lately.
  private var samples = 0
  private var leastExcess: Int64 = .max
  private var correctedAt: UInt64 = 0

  init(bytesPerSecond: Int?) {
    nominal = bytesPerSecond.map { 1024 * 1_000_000_000 / UInt64(max($0, 1)) } ?? 0
    kibibyte = nominal
  }

  var isPacing: Bool { nominal > 0 }

  /// Bytes in a second, as it is believed now.
  var rate: Int? { kibibyte == 0 ? nil : Int(1024 * 1_000_000_000 / kibibyte) }

  /// The same for reports. The clocks of both ends may differ, but a line does not carry more than its nominal rate for that.
  var carriedRate: Int? { rate.map { min($0, nominalRate) } }

  func time(of count: Int) -> UInt64 { UInt64(count) * kibibyte / 1024 }

  /// Bytes that fit in a time, `nil` where the line is not paced.
  func bytes(in time: UInt64) -> Int? { kibibyte == 0 ? nil : Int(time * 1024 / kibibyte) }

  /// When the next frame may be handed over.
  var readyAt: UInt64 { busyUntil > ahead ? busyUntil - ahead : 0 }

  /// Bytes of the largest frame, `nil` where the line is not paced.
  var largestFrame: Int? {
    nominal == 0 ? nil : bytes(in: nominalRate < Self.slow ? Self.slowFrame : Self.frame)
  }

  private var nominalRate: Int { Int(1024 * 1_000_000_000 / nominal) }

  /// A timer that was set for ``readyAt`` has fired.
  mutating func woke(at now: UInt64) {
    let late = min(now - min(readyAt, now), Self.mostAhead)
    // Up quickly, but not for a single one; down slowly.
    lateness = late > lateness ? lateness + (late - lateness) / 4 : lateness - (lateness - late) / 32
  }

  /// Whether nothing is under way.
  func isAtRest(at now: UInt64) -> Bool { busyUntil <= now }

  mutating func handOver(_ count: Int, at now: UInt64) {
    guard isPacing else { return }
    busyUntil = max(busyUntil, now) + time(of: count)
    ahead = min(Self.leastAhead + 2 * lateness, Self.mostAhead)
  }

  /// Forgets all that was handed over.
  mutating func reset(at now: UInt64) {
    busyUntil = now
    restart(at: now)
  }

  // MARK: Model and reality

  /// Returns the time until so many bytes that are handed over now have left, by the model.
  func expectedWait(at now: UInt64, bytes: Int) -> UInt64 {
    (busyUntil > now ? busyUntil - now : 0) + time(of: bytes)
  }

  /// The least that an answer took on a wire at rest, besides the time for the bytes.
  var leastRoundTrip: UInt64? { rest.min().map { UInt64(max($0, 0)) } }

  /// Returns by how much an answer is later than the model, beyond what answers take on a wire at rest; `nil` if that is not known yet.
  ///
  /// The peer's queue delays answers too. The latest answer at rest tells by how much. An earlier answer only tells that this one
  /// was late for another reason, such as a busy machine.
  func lateness(of excess: Int64) -> Int64? { rest.last.map { max(excess - $0, 0) } }

  /// Between the first polls, which measure the line.
  var restInterval: UInt64 { interval / 4 }

  /// Whether a poll on a line at rest would tell something new.
  var wantsRest: Bool { isPacing && rest.count < Self.fewSamples }

  /// An answer has come, to a poll that was handed over while the line was at rest or busy. `excess` is what it took
  /// beyond what was expected, which may be less than nothing.
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

  /// The least of so many is taken for the truth: at ``interval``, one correction in a second.
  private static let samplesOfCorrection = 5
  /// The limit in intervals beyond which older samples say nothing about the line.
  private static let correctionLimit: UInt64 = 20
  /// Nanoseconds beyond noise from which a queue is longer than the model's: timers alone make an answer late by some.
  private static let certainlyLate: Int64 = 3_000_000
  /// Nanoseconds before the model's time from which the wire was idle. Fewer: nothing but a faster wire makes an answer
  /// early.
  private static let certainlyEarly: Int64 = 1_000_000
  /// The wire is believed slower by at most a fifth at once: one wrong correction must not stop the line.
  private static let slowing: Int64 = 5
  /// The rate is raised by a hundredth after the wire was idle; how long it was idle is not known.
  private static let speedUpAfterIdling: Int64 = 100
  /// The rate is raised by a 400th for a trial if all is well. If it is too fast, 3 ms of queue build up in 1.2 s, and are found
  /// (``certainlyLate``).
  private static let speedUpOnTrial: Int64 = 400
  /// A wire carries at most a sixteenth more than its name says, as clocks are not that wrong, and at least half.
  private static let fastest: UInt64 = 16
  private static let slowest: UInt64 = 2

  /// Noise is never negative: the least sample is the truth, and half of what they spread is what one cannot know.
  private mutating func correct(at now: UInt64) {
    let sorted = rest.sorted()
    guard let base = sorted.first, correctedAt > 0, now > correctedAt,
      now - correctedAt < Self.correctionLimit * interval
    else { return }
    let elapsed = Int64(now - correctedAt)
    let noise = sorted[sorted.count / 2] - base
    // No more can have built up than time has passed.
    let queued = min(max(leastExcess - base, -elapsed), elapsed)
    if queued > noise + Self.certainlyLate {
      // More waits behind the wire than the model knows: the wire is slower.
      adjust(by: queued - noise, slowedBy: min(queued - noise, elapsed / Self.slowing), of: elapsed)
    } else if queued < -noise - Self.certainlyEarly {
      // The wire has long been idle when the model says that it becomes so.
      adjust(by: queued + noise, slowedBy: -elapsed / Self.speedUpAfterIdling, of: elapsed)
    } else if queued < noise + Self.certainlyEarly {
      // Never quite sure that the line does not carry more: where it does not, the queue will tell.
      adjust(by: 0, slowedBy: -elapsed / Self.speedUpOnTrial, of: elapsed)
    }
  }

  private mutating func adjust(by queued: Int64, slowedBy change: Int64, of elapsed: Int64) {
    busyUntil = UInt64(max(Int64(busyUntil) + queued, 0))
    adjusted += queued
    // In 65,536ths: on a very slow line, the product of two times would not fit.
    let slower = Int64(kibibyte) + (Int64(kibibyte) * ((change << 16) / elapsed)) >> 16
    kibibyte = UInt64(min(max(slower, Int64(nominal - nominal / Self.fastest)), Int64(nominal * Self.slowest)))
  }

  private mutating func restart(at now: UInt64) {
    samples = 0
    leastExcess = .max
    correctedAt = now
  }
}
