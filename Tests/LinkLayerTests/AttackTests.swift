import Testing

@testable import LinkLayer

/// What a fuzzer has found, or found worth keeping: Fuzz/LinkLayer/run looks for more.
@Suite("Attacks")
struct AttackTests {
  @Test("neither trap nor cost memory", arguments: Vector.all(in: "attacks.txt"))
  func replay(_ vector: Vector) {
    vector.bytes("script").withUnsafeBufferPointer { script in
      var attack = Attack(script)
      attack.run()
    }
  }
}
