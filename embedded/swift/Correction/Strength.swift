/// The code rate of a frame with correction: an index of a table that both ends know (section 7).
struct Strength {
  let index: Int

  private static let table: InlineArray<12, UInt8> = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
  /// The strength of copies of HELLO and OPEN.
  static var ofOpenings: Strength { Strength(index: 3) }

  /// The number of wrong bytes in a code word that can be corrected.
  var wrong: Int { Int(Self.table[index]) }

  /// Returns the number of code words for a body of this many bytes.
  @inline(never)
  func words(for count: Int) -> Int { (count &+ 254 &- 2 &* wrong) / (255 &- 2 &* wrong) }

  func parity(of count: Int) -> Int { 2 &* wrong &* words(for: count) }

  /// Returns a code word of a frame whose body begins at `start`.
  @inline(never)
  func word(_ index: Int, of count: Int, at start: Int) -> CodeWord {
    let words = words(for: count)
    return CodeWord(
      start: start &+ index, count: (count &- index &+ words &- 1) / words, stride: words,
      parityStart: start &+ count &+ index, parity: 2 &* wrong)
  }
}
