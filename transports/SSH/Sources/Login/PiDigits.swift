/// The fraction of π in binary, which is where Blowfish's tables come from: computed, as no list of a thousand numbers can
/// be checked by eye. π/4 = 4·arctan(1/5) − arctan(1/239) (Machin, 1706).
enum PiDigits {
  /// The first words of 32 bits after the point.
  static func words(_ count: Int) -> [UInt32] {
    // Each of some ten thousand divisions may be off by one in the last place.
    let guardWords = 2
    var pi = FixedPoint(wordCount: count + 1 + guardWords)
    pi.addArctangent(ofInverse: 5, times: 16, isNegative: false)
    pi.addArctangent(ofInverse: 239, times: 4, isNegative: true)
    return Array(pi.words[1...count])
  }
}

/// A number with one word before the point.
private struct FixedPoint {
  var words: [UInt32]

  init(wordCount: Int) { words = [UInt32](repeating: 0, count: wordCount) }

  /// arctan(1/x) = 1/x − 1/3x³ + 1/5x⁵ − …
  mutating func addArctangent(ofInverse x: UInt32, times factor: UInt32, isNegative: Bool) {
    var power = FixedPoint(wordCount: words.count)
    power.words[0] = factor
    power.divide(by: x, from: 0)
    var term = power
    // Everything before it is zero.
    var start = 0
    var divisor: UInt32 = 1
    var subtracts = isNegative
    while start < words.count {
      power.divide(by: divisor, from: start, into: &term)
      add(term, from: start, subtracting: subtracts)
      power.divide(by: x * x, from: start)
      while start < words.count, power.words[start] == 0 { start += 1 }
      divisor += 2
      subtracts.toggle()
    }
  }

  private mutating func divide(by divisor: UInt32, from start: Int) {
    words.withUnsafeMutableBufferPointer { words in
      var remainder: UInt64 = 0
      for index in start..<words.count {
        let dividend = remainder << 32 | UInt64(words[index])
        words[index] = UInt32(truncatingIfNeeded: dividend / UInt64(divisor))
        remainder = dividend % UInt64(divisor)
      }
    }
  }

  private func divide(by divisor: UInt32, from start: Int, into result: inout FixedPoint) {
    words.withUnsafeBufferPointer { words in
      result.words.withUnsafeMutableBufferPointer { result in
        var remainder: UInt64 = 0
        for index in start..<words.count {
          let dividend = remainder << 32 | UInt64(words[index])
          result[index] = UInt32(truncatingIfNeeded: dividend / UInt64(divisor))
          remainder = dividend % UInt64(divisor)
        }
      }
    }
  }

  /// The carry runs on beyond the term's first word.
  private mutating func add(_ term: FixedPoint, from start: Int, subtracting: Bool) {
    words.withUnsafeMutableBufferPointer { words in
      term.words.withUnsafeBufferPointer { term in
        var carry: Int64 = 0
        var index = words.count - 1
        while index >= 0, index >= start || carry != 0 {
          let part = index >= start ? Int64(term[index]) : 0
          let sum = Int64(words[index]) + (subtracting ? -part : part) + carry
          words[index] = UInt32(truncatingIfNeeded: sum)
          carry = sum >> 32
          index -= 1
        }
      }
    }
  }
}
