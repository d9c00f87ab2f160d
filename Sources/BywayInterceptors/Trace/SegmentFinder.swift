import BywayHTTPWire

/// A search for the segments of a path that announce a secret after them: `token` in `/token/1234`, and in `/reset-token/1234`.
struct SegmentFinder: Sendable {
  private let words: [[UInt8]]
  /// Bit n: a word ends in the letter whose lower five bits are n. This excludes most segments.
  private let lastLetters: UInt32

  /// - Parameter words: The words in lower case.
  init(_ words: Set<String>) {
    self.words = words.map { Array($0.utf8) }.filter { !$0.isEmpty }
    lastLetters = self.words.reduce(0) { $0 | 1 << UInt32($1[$1.count - 1] & 31) }
  }

  /// - Parameter segment: The segment in lower case.
  func isOne(_ segment: String) -> Bool {
    Array(segment.utf8).withUnsafeBytes { isOne($0) }
  }

  /// Whether a segment that is followed by another one matches, in letters of either case.
  func finds(in path: UnsafeRawBufferPointer) -> Bool {
    var start = 0
    while let end = path.firstOffset(of: UInt8(ascii: "/"), from: start) {
      if end > start, isOne(UnsafeRawBufferPointer(rebasing: path[start..<end])) { return true }
      start = end + 1
    }
    return false
  }

  private func isOne(_ segment: UnsafeRawBufferPointer) -> Bool {
    guard let last = segment.last, lastLetters & 1 << UInt32(last & 31) != 0 else { return false }
    return words.contains { word in
      let start = segment.count - word.count
      guard start >= 0, start == 0 || "-_.".utf8.contains(segment[start - 1]) else { return false }
      return zip(segment[start...], word).allSatisfy { byte, letter in
        byte == letter || byte | 0x20 == letter && letter >= 0x61
      }
    }
  }
}
