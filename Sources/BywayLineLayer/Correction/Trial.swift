/// A test whether frames with correction arrive where others are lost. It is Wald's sequential test (1945) of two hypotheses: as many
/// frames are lost as without correction, or a tenth of that.
struct Trial {
  enum Verdict {
    case helps, isInVain
  }

  /// The noise that the strength was chosen for.
  let noise: Noise
  /// The evidence for the second hypothesis in units of 2⁻²⁰: the arrived bytes that would have been lost without correction, minus the
  /// lost bytes.
  private var evidence: Int64 = 0

  private static let loss: Int64 = 5 << 19
  private static let enough: Int64 = 4 << 20
  private static let enoughAgainst: Int64 = -4 << 20

  init(at noise: Noise) {
    self.noise = noise
  }

  /// - Parameter parts: the number of bytes in 2²⁰ that would damage a frame without correction.
  mutating func note(_ trials: FrameSizer.Trials, chance parts: UInt64) -> Verdict? {
    evidence += Int64(trials.arrivedBytes) * Int64(parts) - Int64(trials.lost) * Self.loss
    return evidence >= Self.enough ? .helps : evidence <= Self.enoughAgainst ? .isInVain : nil
  }
}
