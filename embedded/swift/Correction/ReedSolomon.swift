/// A Reed-Solomon code, shortened and systematic (section 7). Its polynomials are on the stack.
enum ReedSolomon {
  /// A polynomial. The index of a coefficient is its power.
  typealias Polynomial = Sizes.Polynomial

  /// The changed bytes of a frame, so that the changes can be reversed.
  struct Changes: ~Copyable {
    private(set) var count = 0
    private var positions: Sizes.Changes<UInt16> = .init(repeating: 0)
    private var values: Sizes.Changes<UInt8> = .init(repeating: 0)

    fileprivate mutating func append(_ position: Int, _ value: UInt8) {
      positions[count] = UInt16(truncatingIfNeeded: position)
      values[count] = value
      count &+= 1
    }

    /// Makes the changes from this number on. A second call reverses them.
    mutating func apply(to frame: inout MutableSpan<UInt8>, from first: Int) {
      for index in first..<count { frame[Int(positions[index])] ^= values[index] }
    }

    fileprivate mutating func remove(from first: Int) { count = first }
  }

  // MARK: - Encoding

  /// Writes the parity of a code word: the remainder of the division by the generator.
  @inline(never)
  static func addParity(to word: CodeWord, in frame: inout MutableSpan<UInt8>) {
    var generator = Polynomial(repeating: 0)
    generate(word.parity, &generator)
    var rest = Polynomial(repeating: 0)
    let last = word.parity &- 1
    for index in 0..<word.count {
      let factor = frame[word.position(index)] ^ rest[last]
      var power = last
      while power > 0 {
        rest[power] = rest[power &- 1] ^ GaloisField.product(factor, generator[power])
        power &-= 1
      }
      rest[0] = GaloisField.product(factor, generator[0])
    }
    for index in 0..<word.parity { frame[word.position(word.count &+ index)] = rest[last &- index] }
  }

  /// Computes the generator, whose roots are this many powers of 2. Its highest coefficient, 1, is not stored.
  private static func generate(_ parity: Int, _ generator: inout Polynomial) {
    generator[0] = 1
    var root: UInt8 = 1
    for index in 0..<parity {
      var power = index &+ 1
      while power > 0 {
        generator[power] = GaloisField.product(generator[power], root) ^ generator[power &- 1]
        power &-= 1
      }
      generator[0] = GaloisField.product(generator[0], root)
      root = GaloisField.product(root, 2)
    }
  }

  // MARK: - Correction

  /// Corrects a code word, and appends to `changes`. Returns the number of wrong bytes; `nil` if there are too many, and the word stays as
  /// it is.
  @inline(never)
  static func correct(_ word: CodeWord, in frame: inout MutableSpan<UInt8>, _ changes: inout Changes) -> Int? {
    var syndromes = Polynomial(repeating: 0)
    guard findSyndromes(of: word, in: frame, &syndromes) else { return 0 }
    var locator = Polynomial(repeating: 0)
    let degree = locate(&syndromes, word.parity, &locator)
    guard degree <= word.parity / 2 else { return nil }
    var evaluator = Polynomial(repeating: 0)
    evaluate(&locator, &syndromes, degree, &evaluator)
    return change(word, in: &frame, &changes, &locator, &evaluator, degree)
  }

  /// Computes the syndromes of a code word. Returns false if all are zero, because there is no error.
  private static func findSyndromes(
    of word: CodeWord, in frame: borrowing MutableSpan<UInt8>, _ syndromes: inout Polynomial
  ) -> Bool {
    var root: UInt8 = 1
    var any: UInt8 = 0
    for index in 0..<word.parity {
      var sum: UInt8 = 0
      for at in 0..<word.length { sum = GaloisField.product(sum, root) ^ frame[word.position(at)] }
      syndromes[index] = sum
      any |= sum
      root = GaloisField.product(root, 2)
    }
    return any != 0
  }

  /// Finds the error locator with the algorithm of Berlekamp and Massey. Returns its degree.
  @inline(never)
  private static func locate(_ syndromes: inout Polynomial, _ count: Int, _ locator: inout Polynomial) -> Int {
    var earlier = Polynomial(repeating: 0)
    earlier[0] = 1
    locator[0] = 1
    var last: UInt8 = 1
    var degree = 0
    var shift = 1
    for index in 0..<count {
      var discrepancy = syndromes[index]
      var power = 1
      while power <= degree {
        discrepancy ^= GaloisField.product(locator[power], syndromes[index &- power])
        power &+= 1
      }
      if discrepancy != 0 {
        let factor = GaloisField.product(discrepancy, GaloisField.inverse(last))
        let grows = 2 &* degree <= index
        // From the highest power down, each coefficient of the earlier locator is used before it is replaced.
        power = count
        while power >= 0 {
          let coefficient = locator[power]
          if power >= shift { locator[power] ^= GaloisField.product(factor, earlier[power &- shift]) }
          if grows { earlier[power] = coefficient }
          power &-= 1
        }
        if grows {
          degree = index &+ 1 &- degree
          last = discrepancy
          shift = 0
        }
      }
      shift &+= 1
    }
    return degree
  }

  /// Computes the polynomial of the error values.
  private static func evaluate(
    _ locator: inout Polynomial, _ syndromes: inout Polynomial, _ degree: Int, _ evaluator: inout Polynomial
  ) {
    for index in 0..<degree {
      for power in 0...index {
        evaluator[index] ^= GaloisField.product(locator[power], syndromes[index &- power])
      }
    }
  }

  /// Tries each byte from the last to the first (Chien's search), and changes the wrong ones.
  private static func change(
    _ word: CodeWord, in frame: inout MutableSpan<UInt8>, _ changes: inout Changes, _ locator: inout Polynomial,
    _ evaluator: inout Polynomial, _ degree: Int
  ) -> Int? {
    let first = changes.count
    var inverse: UInt8 = 1
    var index = word.length
    while index > 0 {
      index &-= 1
      if value(of: &locator, degree &+ 1, at: inverse) == 0 {
        guard changes.count &- first < degree else { break }
        changes.append(word.position(index), error(&locator, &evaluator, degree, at: inverse))
      }
      inverse = GaloisField.product(inverse, 0x8E)  // the inverse of 2
    }
    guard index == 0, changes.count &- first == degree else {
      changes.remove(from: first)
      return nil
    }
    changes.apply(to: &frame, from: first)
    return degree
  }

  /// Returns the value of a polynomial with this many coefficients.
  @inline(never)
  private static func value(of polynomial: inout Polynomial, _ count: Int, at point: UInt8) -> UInt8 {
    var value: UInt8 = 0
    var power = count
    while power > 0 {
      power &-= 1
      value = GaloisField.product(value, point) ^ polynomial[power]
    }
    return value
  }

  /// Returns the error of the byte with this inverse locator (Forney's formula).
  private static func error(
    _ locator: inout Polynomial, _ evaluator: inout Polynomial, _ degree: Int, at point: UInt8
  ) -> UInt8 {
    var slope: UInt8 = 0
    var power: UInt8 = 1
    var index = 1
    while index <= degree {
      slope ^= GaloisField.product(locator[index], power)
      power = GaloisField.product(power, GaloisField.product(point, point))
      index &+= 2
    }
    let inverse = GaloisField.inverse(GaloisField.product(point, slope))
    return GaloisField.product(value(of: &evaluator, degree, at: point), inverse)
  }
}
