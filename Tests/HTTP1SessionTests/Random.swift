import TestTools

typealias SeededRandom = TestTools.SeededRandom

extension SeededRandom {
  /// Cuts bytes into pieces of random length, shorter than most lines.
  mutating func cut(_ bytes: [UInt8]) -> [[UInt8]] { cut(bytes, upTo: 24).map(Array.init) }
}
