import FuzzSupport
import Testing

@testable import BywayLineLayer

/// Scripts that a fuzzer kept, and those that have found errors. Fuzz/LineLayer/run searches for more.
@Suite("Attacks")
struct AttackTests {
  @Test("neither trap nor cost memory", arguments: Vector.all(in: "attacks.txt"))
  func replay(_ vector: Vector) {
    vector.bytes("script").withUnsafeBufferPointer { script in
      var attack = Attack(script)
      attack.run()
    }
  }

  @Test("what was found once stays mended") func findings() {
    for (_, bytes) in FuzzInputs("LineLayer").all {
      bytes.withUnsafeBufferPointer { script in
        var attack = Attack(script)
        attack.run()
      }
    }
  }
}
