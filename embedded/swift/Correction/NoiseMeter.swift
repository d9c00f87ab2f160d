/// The noise on a line in both directions: the wrong bytes that this end receives, and the level that the peer reports (section 7).
struct NoiseMeter {
  /// The time of the latest received frame of the session.
  var heard = Moment(milliseconds: 0)
  private var bytes: UInt32 = 0
  private var wrong: UInt32 = 0
  private var clean: UInt32 = 0
  /// The level that was reported last, and the acknowledgements since.
  private var told: UInt8 = 0
  private var acknowledgements: UInt8 = 0
  /// The numbers of frames with correction that were lost, and of those in which bytes were corrected. Both are halved at 16.
  private var failed: UInt8 = 0
  private var fixed: UInt8 = 0
  /// The level in the latest NOISE of the peer.
  private var peer: UInt8 = 0
  private var hasPeer = false
  /// The number of frames at the beginning of a session that still get correction without a measurement.
  private var trial: UInt8 = 0

  /// The level for a line on which frames are lost in spite of correction.
  private static var beyondCorrection: UInt8 { 0xFF }

  /// Starts the end.
  mutating func start() {
    self = NoiseMeter()
    bytes = 256
  }

  /// Begins a session.
  mutating func begin(isPaced: Bool, _ now: Moment) {
    start()
    trial = isPaced ? 6 : 0
    heard = now
  }

  // MARK: - Measurement

  /// Returns the level for the share of wrong bytes.
  private mutating func level() -> UInt8 {
    if failed >= 4, failed > 2 &* fixed { return Self.beyondCorrection }
    var share: UInt32 = 0xFFFFF
    if wrong <= 0xFFFFF {
      let scaled = wrong &* 4096
      share = scaled / bytes &* 256 &+ scaled % bytes &* 256 / bytes
    }
    if share < 17 { return 0 }
    var exponent: UInt8 = 0
    while share >= 32 {
      share >>= 1
      exponent &+= 1
    }
    return exponent > 15 ? 0xFE : exponent << 4 | UInt8(truncatingIfNeeded: share &- 16)
  }

  /// Returns the number of wrong bytes in 2²⁰ for a level.
  private static func share(of level: UInt8) -> UInt32 {
    level == 0 || level == beyondCorrection ? 0 : UInt32(16 + level & 15) << UInt32(level >> 4)
  }

  /// Counts received bytes, and how many of them were wrong. Old counts fade.
  /// - Returns: whether the level differs from the one that was reported.
  @inline(never)
  mutating func count(_ count: Int, wrong errors: Int) -> Bool {
    bytes &+= UInt32(truncatingIfNeeded: count)
    wrong &+= UInt32(truncatingIfNeeded: errors)
    clean = errors > 0 ? 0 : clean &+ UInt32(truncatingIfNeeded: count)
    if wrong > 1, clean / 8 > bytes / wrong {
      bytes = clean
      wrong = 1
    }
    if wrong >= 64 || bytes >= 0x10000 {
      bytes /= 2
      wrong /= 2
    }
    let level = level()
    let was = Self.share(of: told)
    let now = Self.share(of: level)
    let least = wrong < 16 ? was / 2 : was / 5
    return now &+ least < was || now > was &+ least
      || (level == Self.beyondCorrection) != (told == Self.beyondCorrection)
  }

  /// Counts a frame with correction that was lost.
  mutating func countLost() {
    failed &+= 1
    forget()
  }

  /// Counts a frame with this number of corrected bytes.
  mutating func countCorrected(_ wrong: Int) {
    if wrong > 0 { fixed &+= 1 }
    forget()
  }

  private mutating func forget() {
    guard failed >= 16 || fixed >= 16 else { return }
    failed /= 2
    fixed /= 2
  }

  // MARK: - Reports

  /// Whether NOISE must follow an acknowledgement.
  mutating func isReportDue(isAnswer: Bool) -> Bool {
    guard told != 0 else { return false }
    if isAnswer { return true }
    acknowledgements &+= 1
    return acknowledgements & 7 == 0
  }

  /// Returns the level to report now.
  mutating func tell() -> UInt8 {
    told = level()
    return told
  }

  mutating func takeReport(_ level: UInt8) {
    peer = level
    hasPeer = true
  }

  /// Notes that DATA is sent.
  mutating func noteData() {
    if trial > 0 { trial &-= 1 }
  }

  // MARK: - Strengths

  /// The noise at a bit error rate of 0.002: wrong bytes in 2²⁰.
  private static var trialNoise: UInt32 { 16_700 }
  /// The noise from which on correction costs less than retransmissions do.
  private static var leastNoise: UInt32 { 2 * 0x100000 / UInt32(Sizes.body) / UInt32(Sizes.body) }

  /// Returns the strength for a frame of this many bytes, from the first `most` strengths; `nil` for none. Fractions are in units of 1/256.
  mutating func strength(for count: Int, isData: Bool, most: Int) -> Strength? {
    guard Sizes.strengths > 0, most > 0, peer != Self.beyondCorrection else { return nil }
    var share = Self.share(of: hasPeer || isData ? peer : level())
    if trial > 0, isData { share = max(share, Self.trialNoise) }
    guard share >= Self.leastNoise else { return nil }
    for index in 0..<most &- 1 {
      let strength = Strength(index: index)
      let length = count / strength.words(for: count) &+ 2 &* strength.wrong
      let wrong = (share &* UInt32(truncatingIfNeeded: length)) >> 12
      let margin = (isData ? 5 : 7) &* Self.squareRoot(wrong) &* 8 &+ 128
      if UInt32(truncatingIfNeeded: strength.wrong) << 8 >= wrong &+ margin { return strength }
    }
    return Strength(index: most &- 1)
  }

  private static func squareRoot(_ number: UInt32) -> UInt32 {
    var root: UInt32 = 0
    var bit: UInt32 = 1 << 15
    while bit != 0 {
      if (root | bit) &* (root | bit) <= number { root |= bit }
      bit >>= 1
    }
    return root
  }
}
