/// A Reed-Solomon code over ``GaloisField``, shortened and systematic. With 2t parity bytes it corrects t wrong bytes in a word of at most
/// 255. The roots of its generator are the powers 0 to 2t − 1 of 2.
///
/// It allocates its working memory once. The time to encode or decode depends only on the length of the word and its parity.
struct ReedSolomon {
  static let mostParity = 32

  /// The parts of the working memory: polynomials of degree up to ``mostParity``, each with its constant term first.
  private enum Part {
    static let size = ReedSolomon.mostParity + 4
    static let generator = 0
    static let syndromes = size
    static let locator = size * 2
    static let earlier = size * 3
    static let saved = size * 4
    static let evaluator = size * 5
    static let all = size * 6
  }

  private var memory: [UInt8] = []
  /// The number of parity bytes of the stored generator; 0 before the first.
  private var generated = 0

  /// Writes the parity of a word.
  mutating func encode(_ word: CodeWord, in frame: UnsafeMutableBufferPointer<UInt8>) {
    let isNew = generated != word.parity
    generated = word.parity
    work { memory, field in
      let generator = memory + Part.generator
      if isNew { Self.generate(word.parity, into: generator, field) }
      // The remainder of a division, highest power first.
      let remainder = memory + Part.saved
      remainder.update(repeating: 0, count: Part.size)
      for index in 0..<word.count {
        let lead = frame[word.position(index)] ^ remainder[0]
        for power in 0..<word.parity {
          remainder[power] = remainder[power &+ 1] ^ field.product(lead, generator[word.parity &- 1 &- power])
        }
      }
      for index in 0..<word.parity { frame[word.position(word.count &+ index)] = remainder[index] }
    }
  }

  /// Corrects a word in place. `nil` if it has too many wrong bytes; the word then stays as it is.
  /// - Returns: the number of wrong bytes.
  mutating func decode(_ word: CodeWord, in frame: UnsafeMutableBufferPointer<UInt8>) -> Int? {
    work { memory, field in
      guard Self.findSyndromes(of: word, in: frame, memory, field) else { return 0 }
      guard let errors = Self.findLocator(word.parity, memory, field) else { return nil }
      return Self.correct(errors, word, in: frame, memory, field) ? errors : nil
    }
  }

  private mutating func work<Result>(_ body: (UnsafeMutablePointer<UInt8>, GaloisArithmetic) -> Result) -> Result {
    if memory.isEmpty { memory = [UInt8](repeating: 0, count: Part.all) }
    return memory.withUnsafeMutableBufferPointer { memory in
      GaloisField.tables.withUnsafeBufferPointer { tables in
        // Neither buffer is empty.
        body(memory.baseAddress.unsafelyUnwrapped, GaloisArithmetic(tables.baseAddress.unsafelyUnwrapped))
      }
    }
  }

  // MARK: Polynomials

  private static func generate(_ parity: Int, into generator: UnsafeMutablePointer<UInt8>, _ field: GaloisArithmetic) {
    generator.update(repeating: 0, count: Part.size)
    generator[0] = 1
    for root in 0..<parity {
      for power in stride(from: root &+ 1, through: 1, by: -1) {
        generator[power] = generator[power &- 1] ^ field.shifted(generator[power], by: root)
      }
      generator[0] = field.shifted(generator[0], by: root)
    }
  }

  /// Computes the syndromes. `false` if the word has no error.
  private static func findSyndromes(
    of word: CodeWord, in frame: UnsafeMutableBufferPointer<UInt8>, _ memory: UnsafeMutablePointer<UInt8>,
    _ field: GaloisArithmetic
  ) -> Bool {
    let syndromes = memory + Part.syndromes
    var isWrong = false
    for root in 0..<word.parity {
      var sum: UInt8 = 0
      for index in 0..<word.length { sum = field.shifted(sum, by: root) ^ frame[word.position(index)] }
      syndromes[root] = sum
      if sum != 0 { isWrong = true }
    }
    return isWrong
  }

  /// Finds the error locator with the algorithm of Berlekamp and Massey: the shortest recurrence of the syndromes. `nil` if there are too
  /// many errors.
  private static func findLocator(
    _ parity: Int, _ memory: UnsafeMutablePointer<UInt8>, _ field: GaloisArithmetic
  ) -> Int? {
    let syndromes = memory + Part.syndromes
    let locator = memory + Part.locator
    let earlier = memory + Part.earlier
    let saved = memory + Part.saved
    locator.update(repeating: 0, count: Part.size)
    earlier.update(repeating: 0, count: Part.size)
    locator[0] = 1
    earlier[0] = 1
    var errors = 0
    var distance = 1
    var divisor: UInt8 = 1
    for step in 0..<parity {
      var discrepancy = syndromes[step]
      for power in stride(from: 1, through: min(errors, step), by: 1) {
        discrepancy ^= field.product(locator[power], syndromes[step &- power])
      }
      guard discrepancy != 0 else {
        distance &+= 1
        continue
      }
      let grows = 2 &* errors <= step
      if grows { saved.update(from: locator, count: Part.size) }
      let factor = field.quotient(discrepancy, divisor)
      for power in stride(from: distance, through: parity, by: 1) {
        locator[power] ^= field.product(factor, earlier[power &- distance])
      }
      if grows {
        errors = step &+ 1 &- errors
        earlier.update(from: saved, count: Part.size)
        divisor = discrepancy
        distance = 1
      } else {
        distance &+= 1
      }
    }
    return 2 &* errors <= parity ? errors : nil
  }

  /// Finds the positions with Chien's search and the values with Forney's formula. `false` if they do not fit the word.
  private static func correct(
    _ errors: Int, _ word: CodeWord, in frame: UnsafeMutableBufferPointer<UInt8>,
    _ memory: UnsafeMutablePointer<UInt8>, _ field: GaloisArithmetic
  ) -> Bool {
    let syndromes = memory + Part.syndromes
    let locator = memory + Part.locator
    let evaluator = memory + Part.evaluator
    for power in 0..<word.parity {
      var sum: UInt8 = 0
      for index in 0...min(power, errors) { sum ^= field.product(locator[index], syndromes[power &- index]) }
      evaluator[power] = sum
    }
    // The position of each wrong byte in the word, and its error.
    let places = memory + Part.earlier
    let values = memory + Part.saved
    var found = 0
    for index in 0..<word.length {
      let exponent = word.length &- 1 &- index
      let inverse = exponent == 0 ? 0 : 255 &- exponent
      var sum: UInt8 = 0
      var slope: UInt8 = 0
      for power in stride(from: errors, through: 0, by: -1) {
        sum = field.shifted(sum, by: inverse) ^ locator[power]
      }
      guard sum == 0 else { continue }
      guard found < errors else { return false }
      for power in stride(from: 1, through: errors, by: 2) {
        slope ^= field.shifted(locator[power], by: inverse &* (power &- 1) % 255)
      }
      guard slope != 0 else { return false }
      var value: UInt8 = 0
      for power in stride(from: word.parity &- 1, through: 0, by: -1) {
        value = field.shifted(value, by: inverse) ^ evaluator[power]
      }
      places[found] = UInt8(truncatingIfNeeded: index)
      values[found] = field.quotient(field.shifted(value, by: exponent), slope)
      found &+= 1
    }
    guard found == errors else { return false }
    for error in 0..<found { frame[word.position(Int(places[error]))] ^= values[error] }
    return true
  }
}
