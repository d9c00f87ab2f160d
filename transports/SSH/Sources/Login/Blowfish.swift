/// The cipher inside bcrypt (Schneier 1993), with the key schedule that Provos and Mazières made slow on purpose (1999).
/// For nothing else: its blocks are too small for anything new.
struct Blowfish {
  /// 18 subkeys, then four tables of 256: all from π.
  private static let initial = PiDigits.words(18 + 4 * 256)

  private var state = Blowfish.initial

  /// Mixes in a key, and a salt where there is one.
  mutating func expand(key: [UInt32], salt: [UInt32]) {
    state.withUnsafeMutableBufferPointer { state in
      for index in 0..<18 { state[index] ^= key[index % key.count] }
      var left: UInt32 = 0
      var right: UInt32 = 0
      var next = 0
      for index in stride(from: 0, to: state.count, by: 2) {
        if !salt.isEmpty {
          left ^= salt[next]
          right ^= salt[next + 1]
          next = (next + 2) % salt.count
        }
        Self.encrypt(&left, &right, state)
        state[index] = left
        state[index + 1] = right
      }
    }
  }

  /// - Parameter words: an even number of them, encrypted in place, pair by pair.
  mutating func encrypt(_ words: inout [UInt32]) {
    state.withUnsafeMutableBufferPointer { state in
      for index in stride(from: 0, to: words.count - 1, by: 2) {
        var (left, right) = (words[index], words[index + 1])
        Self.encrypt(&left, &right, state)
        (words[index], words[index + 1]) = (left, right)
      }
    }
  }

  @inline(__always)
  private static func encrypt(_ left: inout UInt32, _ right: inout UInt32, _ state: UnsafeMutableBufferPointer<UInt32>)
  {
    for round in stride(from: 0, to: 16, by: 2) {
      left ^= state[round]
      right ^= mix(left, state)
      right ^= state[round + 1]
      left ^= mix(right, state)
    }
    (left, right) = (right ^ state[17], left ^ state[16])
  }

  @inline(__always)
  private static func mix(_ word: UInt32, _ state: UnsafeMutableBufferPointer<UInt32>) -> UInt32 {
    let first = state[18 + Int(word >> 24)] &+ state[18 + 256 + Int(word >> 16 & 0xFF)]
    return (first ^ state[18 + 512 + Int(word >> 8 & 0xFF)]) &+ state[18 + 768 + Int(word & 0xFF)]
  }
}
