/// The error correction of sent frames: for each frame, whether it has correction, how strong it is, and how long the frame is. The choice
/// depends on the noise that the peer reports and on lost frames.
///
/// Frames have no correction where they carry more data without it: on a good line, and on a line that loses bytes, because a code word
/// corrects wrong bytes but not missing ones.
struct Corrector {
  /// The limits of a frame on this line.
  struct Room {
    /// The largest frame on the wire in bytes, and the largest payload that the peer accepts.
    var frame: Int
    var payload: Int
  }

  /// The number of strengths that the peer can correct, from the weakest on; 0 if it corrects none.
  let most: Int
  private(set) var noise = Noise.none
  private var stage = Stage.off
  private var sizer = Self.provenSizer
  /// Whether the latest new frame has correction.
  private(set) var latestHasCorrection = false
  private var restsUntil: UInt64 = 0
  private var rest = Self.shortRest
  /// Whether the session began with correction, and no trial has begun since.
  private var hasGuarded = false

  private enum Stage {
    case off
    /// The session begins and the line is not known yet: the next `left` frames get the correction for a bad line. After a loss, every
    /// other frame does.
    case guarding(left: Int, hasLost: Bool)
    case trying(Trial)
    /// Correction helps. `at` is the noise level that was reported then.
    case proven(at: Noise)
  }

  /// The bytes of a DATA frame besides payload and parity.
  static let overhead = CorrectableFrame.leadLength + FrameCodec.dataOverhead - 2
  private static var provenSizer: FrameSizer {
    FrameSizer(overhead: overhead, rate: ErrorRate(halfAnErrorIn: 262_144))
  }
  /// Returns a sizer that expects half as many losses as without correction, so that a trial on a line that correction does not help costs
  /// little.
  private static func triedSizer(_ plain: FrameSizer) -> FrameSizer {
    FrameSizer(overhead: overhead, rate: ErrorRate(halfAnErrorIn: min(1 << 20 / max(plain.parts, 1), 4096)))
  }
  /// The time without correction after it did not help. It grows with each failure.
  private static let shortRest: UInt64 = 16_000_000_000
  private static let longRest: UInt64 = 256_000_000_000
  /// The number of losses that is sufficient to judge.
  private static let enough = 4
  /// The margin in 16ths of a standard deviation. Short frames get more, because others wait for them.
  private static let deviations: UInt64 = 40
  private static let deviationsOfControl: UInt64 = 56

  private static let guarded = 6
  private static let longestGuarded = 160
  /// A bit error rate of 0.002.
  private static let assumed = Noise(halfErrors: 30, in: 1000)

  init(most: Int, guards: Bool = false) {
    self.most = most
    guard guards, most > 0 else { return }
    stage = .guarding(left: Self.guarded, hasLost: false)
    hasGuarded = true
  }

  var isOn: Bool { if case .off = stage { false } else { true } }
  var isGuarding: Bool { if case .guarding = stage { true } else { false } }
  /// Frames with correction get through where others do not.
  var isProven: Bool { if case .proven = stage { true } else { false } }

  /// Takes the noise that the peer reports.
  /// - Parameter plain: the results of frames without correction.
  /// - Returns: whether the unacknowledged frames have less correction than the line now needs.
  mutating func update(_ noise: Noise, plain: FrameSizer, _ room: Room, at now: UInt64) -> Bool {
    let rises = noise.exceeds(self.noise)
    self.noise = noise
    guard most > 0 else { return false }
    guard noise != .none else {
      stage = .off
      rest = Self.shortRest
      return false
    }
    switch stage {
    case _ where noise == .beyondCorrection:
      if isOn { giveUp(at: now) }
    case .off, .guarding:
      guard now >= restsUntil, isWorthwhile(room) else { break }
      begin(plain)
      // The frames in flight were made for an assumed noise.
      guard hasGuarded else { break }
      hasGuarded = false
      return true
    case .trying(let trial):
      if noise.exceeds(trial.noise) {
        begin(plain)
        return true
      }
    case .proven: return rises
    }
    return false
  }

  private mutating func begin(_ plain: FrameSizer) {
    stage = .trying(Trial(at: noise))
    sizer = Self.triedSizer(plain)
  }

  /// Takes the results of frames with correction.
  mutating func note(_ trials: FrameSizer.Trials, plain: FrameSizer, _ room: Room, at now: UInt64) {
    sizer.note(trials)
    switch stage {
    case .off: break
    case .guarding(let left, let hasLost): stage = .guarding(left: left, hasLost: hasLost || trials.lost > 0)
    case .trying(var trial):
      // The noise tells how many bytes are wrong, but bursts of errors damage fewer frames than that suggests.
      let verdict = trial.note(trials, chance: min(noise.parts, plain.parts))
      stage = .trying(trial)
      if verdict == .isInVain { return giveUp(at: now) }
      if verdict == .helps {
        stage = .proven(at: noise)
        if sizer.losses == 0 { sizer = Self.provenSizer }
      }
    case .proven(let then):
      guard trials.lost > 0, sizer.losses >= Self.enough else { return }
      // Frames without correction were last seen during the trial. If there is more noise now, they would carry less.
      var other = Self.share(plain, room)
      if noise.exceeds(then) { other = min(other, plainShare(room)) }
      if share(room) < other { giveUp(at: now) }
    }
  }

  /// Forgets the noise, because the peer or the line may have changed.
  mutating func forget() {
    stage = .off
    noise = .none
  }

  private mutating func giveUp(at now: UInt64) {
    stage = .off
    restsUntil = now + rest
    rest = min(rest * 4, Self.longRest)
  }

  /// Decides whether the next frame has correction. During a trial every other frame has none, so that acknowledgements in those arrive
  /// even if correction does not help.
  mutating func takesNext() -> Bool {
    if case .guarding(let left, let hasLost) = stage {
      // The frame that is made now takes its size and strength from the stage that is stored here.
      latestHasCorrection = left > 0 && (!hasLost || !latestHasCorrection)
      stage = left > 0 ? .guarding(left: left - 1, hasLost: hasLost) : .off
    } else {
      latestHasCorrection = isOn && (isProven || !latestHasCorrection)
    }
    return latestHasCorrection
  }

  // MARK: Sizes

  func strength(of count: Int, isData: Bool) -> Strength {
    Strength(
      count, noise: isGuarding ? Self.assumed : noise, deviations: isData ? Self.deviations : Self.deviationsOfControl,
      most: most)
  }

  /// The number of wrong bytes that a long code word of a DATA frame can have and still be corrected.
  var errors: Int { isOn && !isGuarding ? strength(of: 200, isData: true).errors : 0 }

  func payload(_ room: Room) -> Int {
    let payload = min(sizer.payload, longest(room), isGuarding ? Self.longestGuarded : .max)
    return max(payload / Unit.size * Unit.size, Unit.size)
  }

  private func longest(_ room: Room) -> Int {
    let body = min(room.payload + FrameCodec.dataOverhead, room.frame, CorrectableFrame.longestBody)
    let parity = strength(of: body, isData: true).parity(of: body)
    let fitting = min(body, room.frame - CorrectableFrame.leadLength - parity) - FrameCodec.dataOverhead
    return min(max(fitting, LineLayerConfiguration.leastPayload), room.payload)
  }

  /// Returns the length on the wire of a DATA frame with correction, in bytes.
  func length(_ payload: Int) -> Int {
    let body = payload + FrameCodec.dataOverhead - 2
    return CorrectableFrame.length(of: body, strength(of: body, isData: true))
  }

  // MARK: Comparison

  private func share(_ room: Room) -> UInt64 { sizer.share(within: longest(room), length: length) }

  private static func share(_ plain: FrameSizer, _ room: Room) -> UInt64 {
    plain.share(within: min(room.payload, room.frame - FrameCodec.dataOverhead)) { $0 + FrameCodec.dataOverhead + 1 }
  }

  /// Whether frames with correction would carry more data, judged by the noise alone.
  private func isWorthwhile(_ room: Room) -> Bool {
    let payload = longest(room)
    return UInt64(payload) * 1010 / UInt64(length(payload)) > plainShare(room)
  }

  /// Returns the share that frames without correction carry, judged by the noise alone.
  private func plainShare(_ room: Room) -> UInt64 {
    Self.share(FrameSizer(rate: ErrorRate(halfErrors: noise.parts, in: 1 << 19)), room)
  }
}
