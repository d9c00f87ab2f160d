/// The positions of a code word's bytes in a frame. They are spread at equal distances, so that all words share a burst of errors.
struct CodeWord {
  /// The first byte of what is protected, how many there are, and from each to the next.
  var start: Int
  var count: Int
  var stride: Int
  /// The first parity byte, and how many there are; the stride is the same.
  var parityStart: Int
  var parity: Int

  var length: Int { count &+ parity }

  /// Returns the position in the frame of the byte at this index of the word.
  func position(_ index: Int) -> Int {
    index < count ? start &+ index &* stride : parityStart &+ (index &- count) &* stride
  }
}
