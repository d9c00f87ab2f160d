import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("Reed-Solomon decoder")
struct ReedSolomonTests {
  /// A frame of several words, and where they are.
  private struct Words {
    var bytes: [UInt8]
    let words: [CodeWord]

    init(_ count: Int, words: Int, parity: Int, using random: inout SplitMix64, _ codec: inout ReedSolomon) {
      bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      bytes += [UInt8](repeating: 0, count: words * parity)
      self.words = (0..<words).map {
        CodeWord(
          start: $0, count: (count - $0 + words - 1) / words, stride: words, parityStart: count + $0, parity: parity)
      }
      for word in self.words { bytes.withUnsafeMutableBufferPointer { codec.encode(word, in: $0) } }
    }

    /// Changes that many bytes of a word.
    mutating func spoil(_ count: Int, of word: CodeWord, using random: inout SplitMix64) {
      for index in Array(0..<word.length).shuffled(using: &random).prefix(count) {
        bytes[word.position(index)] ^= UInt8.random(in: 1...255, using: &random)
      }
    }

    mutating func decode(_ codec: inout ReedSolomon) -> [Int?] {
      words.map { word in bytes.withUnsafeMutableBufferPointer { codec.decode(word, in: $0) } }
    }
  }

  @Test(
    "the decoder corrects t wrong bytes of a word with 2t bytes of parity, at any position",
    arguments: 0..<Strength.count)
  func corrects(_ index: Int) {
    var random = SplitMix64(seed: UInt64(index))
    var codec = ReedSolomon()
    let strength = Strength(index: index)
    for round in 0..<60 {
      let count = Int.random(in: 5...700, using: &random)
      let words = strength.words(count)
      var frame = Words(count, words: words, parity: strength.parity, using: &random, &codec)
      let sent = frame.bytes
      let errors = (0..<words).map { _ in
        round % 4 == 0 ? strength.errors : Int.random(in: 0...strength.errors, using: &random)
      }
      for (word, errors) in zip(frame.words, errors) { frame.spoil(errors, of: word, using: &random) }
      #expect(frame.words.allSatisfy { $0.length <= 255 })
      #expect(frame.decode(&codec) == errors)
      #expect(frame.bytes == sent)
    }
  }

  @Test(
    "if a word has more than t wrong bytes, the decoder leaves it or finds another valid word",
    arguments: 0..<Strength.count)
  func refuses(_ index: Int) {
    var random = SplitMix64(seed: UInt64(index))
    var codec = ReedSolomon()
    let strength = Strength(index: index)
    var refused = 0
    for _ in 0..<100 {
      var frame = Words(30, words: 1, parity: strength.parity, using: &random, &codec)
      let sent = frame.bytes
      frame.spoil(min(strength.errors + 1, frame.bytes.count), of: frame.words[0], using: &random)
      let heard = frame.bytes
      guard let errors = frame.decode(&codec)[0] else {
        #expect(frame.bytes == heard)
        refused += 1
        continue
      }
      // Another code word, as far from the received one as the decoder says.
      #expect(frame.bytes != sent && errors <= strength.errors)
      #expect(zip(frame.bytes, heard).filter { $0 != $1 }.count == errors)
      #expect(frame.decode(&codec) == [0])
    }
    // A word of random bytes is near another by a chance of less than 1 in t!.
    #expect(refused >= (strength.errors == 1 ? 70 : 85), "\(refused)")
  }

  @Test("if the input is random bytes, the decoder terminates, and a word that it refuses stays the same")
  func noise() {
    var random = SplitMix64(seed: 9)
    var codec = ReedSolomon()
    for _ in 0..<3000 {
      let parity = 2 * Int.random(in: 1...16, using: &random)
      let word = CodeWord(
        start: 0, count: Int.random(in: 1...(255 - parity), using: &random), stride: 1, parityStart: 0, parity: parity)
      var bytes = (0..<255).map { _ in UInt8.random(in: 0...255, using: &random) }
      let placed = CodeWord(start: 0, count: word.count, stride: 1, parityStart: word.count, parity: parity)
      let heard = bytes
      let errors = bytes.withUnsafeMutableBufferPointer { codec.decode(placed, in: $0) }
      if errors == nil { #expect(bytes == heard) }
    }
  }

  @Test("the code has the field and the generator of RFC 5510")
  func field() {
    // x⁸ is x⁴ + x³ + x² + 1, and every element but 0 is a power of x.
    #expect(GaloisField.tables[8] == 0x1D)
    #expect(Set(GaloisField.tables[..<255]).count == 255)
    #expect(GaloisField.tables.count <= 2048)
    // (x + 1)(x + 2) = x² + 3x + 2 divides every word of one error's strength.
    var codec = ReedSolomon()
    var bytes: [UInt8] = [1, 0, 0]
    bytes.withUnsafeMutableBufferPointer {
      codec.encode(CodeWord(start: 0, count: 1, stride: 1, parityStart: 1, parity: 2), in: $0)
    }
    #expect(bytes == [1, 3, 2])
  }
}
