/// Whether the frames of a direction bear correction, how much, and how long they are: chosen for each anew, by the noise that the other
/// end tells of and by what becomes of them.
///
/// None is added where frames without it carry more: on a good line, and where bytes are lost rather than wrong, which no code word
/// survives.
struct Corrector {
  /// The limits of a frame on this line.
  struct Room {
    /// Bytes of a frame on the wire, and of payload that the other end takes.
    var frame: Int
    var payload: Int
  }

  /// The strongest that the other end corrects, and how many there are up to that; 0 for none.
  let most: Int
  private(set) var noise = Noise.none
  private var stage = Stage.off
  private var sizer = Self.provenSizer
  /// Whether the latest new frame has correction.
  private(set) var bears = false
  private var restsUntil: UInt64 = 0
  private var rest = Self.shortRest
  /// Its first frames had correction, and there was no trial since.
  private var hasGuarded = false

  private enum Stage {
    case off
    /// A session begins, and nothing is known of the line: so many frames bear what a bad one asks for, every other one once one of
    /// them was lost.
    case guarding(left: Int, hasLost: Bool)
    case trying(Trial)
    /// Correction helps. The noise is the level that was reported at that time.
    case proven(at: Noise)
  }

  /// Bytes of a DATA frame besides its payload and parity.
  static let overhead = CorrectableFrame.leadLength + FrameCodec.dataOverhead - 2
  private static var provenSizer: FrameSizer {
    FrameSizer(overhead: overhead, rate: ErrorRate(halfAnErrorIn: 262_144))
  }
  /// Half as many losses as without: where correction does no good, little is lost by trying.
  private static func triedSizer(_ plain: FrameSizer) -> FrameSizer {
    FrameSizer(overhead: overhead, rate: ErrorRate(halfAnErrorIn: min(1 << 20 / max(plain.parts, 1), 4096)))
  }
  /// After it has turned out to be of no use it is left for so long, and each time for longer.
  private static let shortRest: UInt64 = 16_000_000_000
  private static let longRest: UInt64 = 256_000_000_000
  /// So many losses make sure.
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

  /// The other end has told what it hears.
  /// - Parameter plain: what became of frames without correction.
  /// - Returns: whether frames that are under way bear less than they should.
  mutating func hear(_ noise: Noise, plain: FrameSizer, _ room: Room, at now: UInt64) -> Bool {
    let rises = noise.exceeds(self.noise)
    self.noise = noise
    guard most > 0 else { return false }
    guard noise != .none else {
      stage = .off
      rest = Self.shortRest
      return false
    }
    switch stage {
    case _ where noise == .beyondMending:
      if isOn { giveUp(at: now) }
    case .off, .guarding:
      guard now >= restsUntil, promises(room) else { break }
      begin(plain)
      // Frames that are under way were made for a noise that was only assumed.
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
      // Bytes that are wrong by the noise spoil fewer frames where they come in bursts.
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

  /// The other end may be another, or the line.
  mutating func forget() {
    stage = .off
    noise = .none
  }

  private mutating func giveUp(at now: UInt64) {
    stage = .off
    restsUntil = now + rest
    rest = min(rest * 4, Self.longRest)
  }

  /// Decides whether the next frame has correction. During a trial every other frame goes without it, because acknowledgements of the
  /// others must arrive.
  mutating func takesNext() -> Bool {
    if case .guarding(let left, let hasLost) = stage {
      // The frame that is cut now takes its size and strength from the stage that is stored here.
      bears = left > 0 && (!hasLost || !bears)
      stage = left > 0 ? .guarding(left: left - 1, hasLost: hasLost) : .off
    } else {
      bears = isOn && (isProven || !bears)
    }
    return bears
  }

  // MARK: Sizes

  func strength(of count: Int, isData: Bool) -> Strength {
    Strength(
      count, noise: isGuarding ? Self.assumed : noise, deviations: isData ? Self.deviations : Self.deviationsOfControl,
      most: most)
  }

  /// Wrong bytes in a long word that frames of DATA bear now.
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

  /// Bytes on the wire of a frame of DATA with correction.
  func length(_ payload: Int) -> Int {
    let body = payload + FrameCodec.dataOverhead - 2
    return CorrectableFrame.length(of: body, strength(of: body, isData: true))
  }

  // MARK: Whether

  private func share(_ room: Room) -> UInt64 { sizer.share(within: longest(room), length: length) }

  private static func share(_ plain: FrameSizer, _ room: Room) -> UInt64 {
    plain.share(within: min(room.payload, room.frame - FrameCodec.dataOverhead)) { $0 + FrameCodec.dataOverhead + 1 }
  }

  /// Whether frames with correction carry more, judged by the noise alone.
  private func promises(_ room: Room) -> Bool {
    let payload = longest(room)
    return UInt64(payload) * 1010 / UInt64(length(payload)) > plainShare(room)
  }

  /// Returns the share that frames without correction carry, judged by the noise alone.
  private func plainShare(_ room: Room) -> UInt64 {
    Self.share(FrameSizer(rate: ErrorRate(halfErrors: noise.parts, in: 1 << 19)), room)
  }
}
