import Primitives
import Testing

@Suite struct SpellingTests {
  @Test(
    "a slip of the keys finds the word that was meant",
    arguments: [("unxi", "unix"), ("seral", "serial"), ("TCP", "tcp"), ("eexc", "exec")])
  func slip(_ word: String, _ meant: String) {
    #expect(Spelling.nearest(to: word, among: ["exec", "serial", "tcp", "unix"]) == meant)
  }

  @Test("what is far from every word is no slip")
  func noSlip() {
    #expect(Spelling.nearest(to: "bluetooth", among: ["tcp", "unix"]) == nil)
    #expect(Spelling.hint(for: "bluetooth", among: ["tcp", "unix"]) == " Known: tcp, unix.")
    #expect(Spelling.hint(for: "unxi", among: ["unix"]) == " Did you mean \"unix\"? Known: unix.")
    #expect(Spelling.hint(for: "x", among: []) == " None are known.")
  }
}
