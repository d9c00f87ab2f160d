/// How much a frame's code words bear: an index into a table that both ends know.
package struct Strength: Equatable, Sendable {
  package let index: Int

  /// Wrong bytes in a word that can be put right.
  private static let table = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
  package static let count = 12
  /// Bytes of the longest word.
  private static let longestWord = 255
  /// The strength of copies of HELLO and OPEN.
  static let ofOpenings = Strength(index: 3)

  init(index: Int) {
    self.index = min(max(index, 0), Self.count - 1)
  }

  /// The number of wrong bytes of a word that can be corrected.
  package var errors: Int { Self.table[index] }
  var parity: Int { 2 * errors }
  private var room: Int { Self.longestWord - parity }

  /// Words that so many bytes are spread over.
  func words(_ count: Int) -> Int { max((count + room - 1) / room, 1) }

  func parity(of count: Int) -> Int { words(count) * parity }

  /// The least that nearly always mends a frame: the wrong bytes that a word is likely to have, more by so many 16ths of their standard
  /// deviation, and by a half.
  init(_ count: Int, noise: Noise, deviations: UInt64, most: Int) {
    for index in 0..<min(most, Self.count) {
      self.init(index: index)
      let length = (count + words(count) - 1) / words(count) + parity
      // In 256ths.
      let expected = (UInt64(length) * noise.parts) >> 12
      let needed = expected + (deviations * (expected << 8).squareRoot) >> 4 + 128
      if needed <= UInt64(errors) << 8 { return }
    }
    self.init(index: most - 1)
  }
}
