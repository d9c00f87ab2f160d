/// Where the bytes of a code word are in a frame: every so many bytes one, so that a burst of errors is shared among all words.
struct CodeWord {
  /// The first byte of what is protected, how many there are, and from each to the next.
  var start: Int
  var count: Int
  var stride: Int
  /// The first parity byte, and how many there are; the stride is the same.
  var parityStart: Int
  var parity: Int

  var length: Int { count &+ parity }

  /// Where the byte at this index of the word is.
  func position(_ index: Int) -> Int {
    index < count ? start &+ index &* stride : parityStart &+ (index &- count) &* stride
  }
}
