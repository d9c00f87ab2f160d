/// The code rate of a frame with correction: an index of a table that both ends know.
package struct Strength: Equatable, Sendable {
  package let index: Int

  /// The number of wrong bytes in a word that can be corrected.
  private static let table = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16]
  package static let count = 12
  /// The largest code word in bytes.
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

  /// Returns the number of code words for a body of this many bytes.
  func words(_ count: Int) -> Int { max((count + room - 1) / room, 1) }

  func parity(of count: Int) -> Int { words(count) * parity }

  /// Creates the weakest strength that corrects almost every frame. A word then corrects the expected number of wrong bytes, plus 0.5, plus
  /// a margin in 16ths of the standard deviation.
  init(_ count: Int, noise: Noise, deviations: UInt64, most: Int) {
    for index in 0..<min(most, Self.count) {
      self.init(index: index)
      let length = (count + words(count) - 1) / words(count) + parity
      // In units of 1/256.
      let expected = (UInt64(length) * noise.parts) >> 12
      let needed = expected + (deviations * (expected << 8).squareRoot) >> 4 + 128
      if needed <= UInt64(errors) << 8 { return }
    }
    self.init(index: most - 1)
  }
}
