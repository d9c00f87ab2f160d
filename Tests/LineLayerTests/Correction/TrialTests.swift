import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("A trial of correction")
struct TrialTests {
  /// Returns the verdict on frames of 300 bytes with correction, of which a share is lost.
  /// Without correction, one byte in a thousand would damage its frame.
  private func verdict(lost chance: Double, seed: UInt64) -> (Trial.Verdict?, frames: Int) {
    var random = SplitMix64(seed: seed)
    var trial = Trial(at: Noise(code: 96))
    for frame in 1...2000 {
      var trials = FrameSizer.Trials(overhead: Corrector.overhead)
      if Double.random(in: 0..<1, using: &random) < chance {
        trials.noteLoss(of: 300)
      } else {
        trials.noteArrival(of: 300)
      }
      if let verdict = trial.note(trials, chance: (1 << 20) / 1000) { return (verdict, frame) }
    }
    return (nil, 2000)
  }

  @Test(
    "a trial decides correctly whether correction helps in at least 95 % of runs, usually within 30 frames",
    arguments: [
      (0.0, Trial.Verdict.helps), (0.01, .helps), (0.3, .isInVain), (0.5, .isInVain),
    ])
  func verdicts(_ chance: Double, _ right: Trial.Verdict) {
    let all = (1...200).map { verdict(lost: chance, seed: $0) }
    #expect(all.filter { $0.0 == right }.count >= 190)
    #expect(all.map(\.frames).sorted()[100] <= 30)
  }
}
