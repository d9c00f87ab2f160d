/// Whether frames that bear correction get through where others do not: Wald's sequential test (1945) of two guesses, that as many are
/// lost as without, and that it is a tenth of that.
struct Trial {
  enum Verdict {
    case helps, isInVain
  }

  /// The noise by which the strength was chosen.
  let noise: Noise
  /// The evidence for the second hypothesis in 2²⁰ths: the arrived bytes that would have been lost without correction, less the lost
  /// ones.
  private var evidence: Int64 = 0

  private static let loss: Int64 = 5 << 19
  private static let enough: Int64 = 4 << 20
  private static let enoughAgainst: Int64 = -4 << 20

  init(at noise: Noise) {
    self.noise = noise
  }

  /// - Parameter parts: of 2²⁰ bytes so many would have spoilt a frame without.
  mutating func note(_ trials: FrameSizer.Trials, chance parts: UInt64) -> Verdict? {
    evidence += Int64(trials.arrivedBytes) * Int64(parts) - Int64(trials.lost) * Self.loss
    return evidence >= Self.enough ? .helps : evidence <= Self.enoughAgainst ? .isInVain : nil
  }
}
