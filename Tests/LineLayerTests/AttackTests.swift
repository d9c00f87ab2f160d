import FuzzSupport
import Testing

@testable import BywayLineLayer

/// Scripts that a fuzzer kept, and those that have found errors. Fuzz/LineLayer/run searches for more.
@Suite("Fuzzed peers")
struct AttackTests {
  @Test(
    "a recorded attack by a peer does not trap or make an end exceed its memory limits",
    arguments: Vector.all(in: "attacks.txt"))
  func replay(_ vector: Vector) {
    vector.bytes("script").withUnsafeBufferPointer { script in
      var attack = Attack(script)
      attack.run()
    }
  }

  @Test("an input that once made the fuzzer fail does not fail again") func findings() {
    for (_, bytes) in FuzzInputs("LineLayer").all {
      bytes.withUnsafeBufferPointer { script in
        var attack = Attack(script)
        attack.run()
      }
    }
  }
}
