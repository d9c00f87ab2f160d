import BywayLineEmulation
import Synchronization

/// The bit error rate of the demo's line, which the user may change while the line is in use.
final class DemoNoise: Sendable {
  struct Level: Sendable {
    let name: String
    let rate: Double
  }

  static let levels = [
    Level(name: "1e-5", rate: 1e-5), Level(name: "1e-4", rate: 1e-4), Level(name: "1e-3", rate: 1e-3),
    Level(name: "none", rate: 0),
  ]

  private let index = Atomic(0)

  var level: Level { Self.levels[index.load(ordering: .relaxed) % Self.levels.count] }

  /// Raises the error rate; from the highest, sets it to zero.
  func advance() {
    index.wrappingAdd(1, ordering: .relaxed)
  }

  /// - Returns: Whether there is such a level.
  func set(_ name: String) -> Bool {
    guard let level = Self.levels.firstIndex(where: { $0.name == name }) else { return false }
    index.store(level, ordering: .relaxed)
    return true
  }

  func fault() -> any LineFault { Fault(noise: self) }

  private struct Fault: LineFault {
    static let name = BitFlips.name

    let noise: DemoNoise
    private var flips = DemoNoise.levels.map { BitFlips(rate: $0.rate) }

    init(noise: DemoNoise) {
      self.noise = noise
    }

    mutating func carry(_ bytes: inout WireBytes, using random: inout SplitMix64) {
      flips[noise.index.load(ordering: .relaxed) % flips.count].carry(&bytes, using: &random)
    }
  }
}
