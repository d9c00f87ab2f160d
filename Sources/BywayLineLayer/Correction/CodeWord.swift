/// The positions of a code word's bytes in a frame. They are spread at equal distances, so that all words share a burst of errors.
struct CodeWord {
  /// The index of the first data byte, the number of data bytes, and the distance between two of them.
  var start: Int
  var count: Int
  var stride: Int
  /// The index of the first parity byte, and the number of parity bytes. Their distance is the same.
  var parityStart: Int
  var parity: Int

  var length: Int { count &+ parity }

  /// Returns the position in the frame of the byte at this index of the word.
  func position(_ index: Int) -> Int {
    index < count ? start &+ index &* stride : parityStart &+ (index &- count) &* stride
  }
}
