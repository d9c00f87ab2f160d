import BywayPrimitives
import Testing

@Suite struct SpellingTests {
  @Test(
    "a misspelled word is corrected to the nearest one",
    arguments: [("unxi", "unix"), ("seral", "serial"), ("TCP", "tcp"), ("eexc", "exec")])
  func slip(_ word: String, _ meant: String) {
    #expect(Spelling.nearest(to: word, among: ["exec", "serial", "tcp", "unix"]) == meant)
  }

  @Test("a word that is far from all known ones gets no suggestion")
  func noSlip() {
    #expect(Spelling.nearest(to: "bluetooth", among: ["tcp", "unix"]) == nil)
    #expect(Spelling.hint(for: "bluetooth", among: ["tcp", "unix"]) == " Known: tcp, unix.")
    #expect(Spelling.hint(for: "unxi", among: ["unix"]) == " Did you mean \"unix\"? Known: unix.")
    #expect(Spelling.hint(for: "x", among: []) == " None are known.")
  }
}
