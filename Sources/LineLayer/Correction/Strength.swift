/// How much a frame's code words bear: an index into a table that both ends know.
package struct Strength: Equatable, Sendable {
  package let index: Int

  /// Wrong bytes in a word that can be put right, and bytes of the longest word.
  private static let table: [(errors: Int, length: Int)] = [
    (1, 255), (2, 255), (3, 255), (4, 255), (5, 255), (6, 255), (7, 255), (8, 255),
    (10, 255), (12, 255), (14, 255), (16, 255), (16, 192), (16, 128), (16, 96), (16, 64),
  ]
  package static let count = 16

  init(index: Int) {
    self.index = min(max(index, 0), Self.count - 1)
  }

  /// In a word.
  package var errors: Int { Self.table[index].errors }
  var parity: Int { 2 * errors }
  private var room: Int { Self.table[index].length - parity }

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
