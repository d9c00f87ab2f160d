import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("A trial of correction")
struct TrialTests {
  /// Frames of 300 bytes, of which so many are lost with correction where without it one byte in a thousand spoils its frame.
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
    "takes what helps for that, and what does not, and is seldom wrong or long",
    arguments: [
      (0.0, Trial.Verdict.helps), (0.01, .helps), (0.3, .isInVain), (0.5, .isInVain),
    ])
  func verdicts(_ chance: Double, _ right: Trial.Verdict) {
    let all = (1...200).map { verdict(lost: chance, seed: $0) }
    #expect(all.filter { $0.0 == right }.count >= 190)
    #expect(all.map(\.frames).sorted()[100] <= 30)
  }
}
