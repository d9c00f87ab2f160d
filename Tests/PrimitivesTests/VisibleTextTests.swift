import BywayPrimitives
import Testing

@Suite struct VisibleTextTests {
  @Test("control characters, direction marks and separators in text are replaced")
  func obeyed() {
    let marks: [UInt32] = [0x61C, 0x200E, 0x200F, 0x2028, 0x2029] + Array(0x202A...0x202E) + Array(0x2066...0x2069)
    let all = Array(0..<0x20) + Array(0x7F..<0xA0) + marks
    for scalar in all.compactMap(Unicode.Scalar.init) {
      let text = "a\(scalar)b".visible
      #expect(text == "a?b" || text == "a b", "\(scalar.value)")
    }
    #expect("one\r\ntwo\tthree".visible == "one  two three")
  }

  @Test("ordinary text stays unchanged", arguments: ["plain ~", "grün", "日本語", "👩‍👩‍👧", "é́", "שלום", ""])
  func kept(_ text: String) {
    #expect(text.visible == text)
  }
}
