/// How much the code words of a frame can correct: an index that both ends know (section 7).
struct Strength {
  let index: Int

  private static let table: InlineArray<12, UInt8> = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
  /// The strength of copies of HELLO and OPEN.
  static var ofOpenings: Strength { Strength(index: 3) }

  /// Wrong bytes of a word that can be corrected.
  var wrong: Int { Int(Self.table[index]) }

  /// Words for so many bytes of a frame.
  @inline(never)
  func words(for count: Int) -> Int { (count &+ 254 &- 2 &* wrong) / (255 &- 2 &* wrong) }

  func parity(of count: Int) -> Int { 2 &* wrong &* words(for: count) }

  /// A word of a frame whose body begins at `start`.
  @inline(never)
  func word(_ index: Int, of count: Int, at start: Int) -> CodeWord {
    let words = words(for: count)
    return CodeWord(
      start: start &+ index, count: (count &- index &+ words &- 1) / words, stride: words,
      parityStart: start &+ count &+ index, parity: 2 &* wrong)
  }
}
