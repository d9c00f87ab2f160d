/// An estimate of the noise on received bytes. The peer chooses a ``Strength`` by it.
struct NoiseMeter {
  private var rate = ErrorRate(halfAnErrorIn: 65_536)
  /// The bytes of intact frames that are not in the estimate yet. They are added in batches, so a clean line costs no time.
  private var intact: UInt64 = 0
  /// A score: plus two for each frame with correction that was lost, minus one for each that was corrected.
  private var failures = 0
  /// The number of frames without correction since the latest frame with correction.
  private var others = 0

  private var corrected = 0

  /// Whether frames with correction arrive.
  var correctsFrames: Bool { corrected >= 4 && failures < 4 }

  private static let enough: UInt64 = 4096
  /// The score of a line on which most frames with correction are lost: it loses bytes, and stronger correction does not help.
  private static let mostFailures = 32
  private static let enoughOthers = 32

  var noise: Noise {
    failures >= Self.mostFailures
      ? .beyondCorrection : Noise(halfErrors: rate.lasting.halfErrors, in: rate.lasting.bytes)
  }

  /// Takes an intact frame without correction.
  mutating func note(intact count: Int) {
    others += 1
    if others >= Self.enoughOthers { failures = 0 }
    intact += UInt64(count)
    if intact >= Self.enough { addIntact() }
  }

  /// Takes a run of bytes that is not a frame.
  mutating func note(damaged count: Int) {
    addIntact()
    rate.note(ErrorRate.Evidence(halfErrors: 2, bytes: UInt64(count / 2 + 1)))
  }

  mutating func note(corrected errors: Int, of count: Int) {
    others = 0
    // A frame without wrong bytes would also have arrived without correction.
    if errors > 0 {
      failures = max(failures - 1, 0)
      corrected = min(corrected + 1, 4)
    }
    add(errors, of: count)
  }

  /// Takes a code word with more wrong bytes than can be corrected.
  mutating func note(uncorrectable errors: Int, of count: Int) {
    others = 0
    // A frame with less correction than the noise needs now says nothing about whether correction helps.
    let isStrong = UInt64(errors) * rate.lasting.bytes > rate.lasting.halfErrors * UInt64(count)
    if isStrong { failures = min(failures + 2, Self.mostFailures) }
    if failures == Self.mostFailures { corrected = 0 }
    add(errors, of: count)
  }

  private mutating func add(_ errors: Int, of count: Int) {
    addIntact()
    rate.note(ErrorRate.Evidence(halfErrors: UInt64(2 * errors), bytes: UInt64(count)))
  }

  private mutating func addIntact() {
    guard intact > 0 else { return }
    rate.note(ErrorRate.Evidence(halfErrors: 0, bytes: intact))
    intact = 0
  }
}
