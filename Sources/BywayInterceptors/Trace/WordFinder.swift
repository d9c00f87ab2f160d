/// A search for any of a few words in a text, all of them in one pass.
struct WordFinder: Sendable {
  /// The words one after another, in the order of their first bytes, and the end of each of them.
  private let bytes: [UInt8]
  private let ends: [Int]
  /// The words that begin with each byte.
  private let starting: [Range<Int>]
  private let isAlwaysFound: Bool

  init(_ words: some Collection<String>) {
    let sorted = words.filter { !$0.isEmpty }.map { Array($0.utf8) }.sorted { $0[0] < $1[0] }
    isAlwaysFound = sorted.count < words.count
    bytes = sorted.flatMap { $0 }
    ends = sorted.reduce(into: []) { ends, word in ends.append((ends.last ?? 0) + word.count) }
    starting = (0...UInt8.max).map { byte in
      let first = sorted.firstIndex { $0[0] >= byte } ?? sorted.endIndex
      return first..<(sorted.firstIndex { $0[0] > byte } ?? sorted.endIndex)
    }
  }

  func finds(in text: String) -> Bool {
    var text = text
    return isAlwaysFound || text.withUTF8 { text in text.indices.contains { beginsWord(text, at: $0) } }
  }

  private func beginsWord(_ text: UnsafeBufferPointer<UInt8>, at start: Int) -> Bool {
    for word in starting[Int(text[start])] {
      var index = word == 0 ? 0 : ends[word - 1]
      guard ends[word] - index <= text.count - start else { continue }
      var position = start
      while index < ends[word], bytes[index] == text[position] {
        index += 1
        position += 1
      }
      if index == ends[word] { return true }
    }
    return false
  }
}
