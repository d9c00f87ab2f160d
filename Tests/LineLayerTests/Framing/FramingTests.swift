import BywayLineEmulation
import Testing

@testable import BywayLineLayer

@Suite("COBS")
struct COBSTests {
  private func roundTrip(_ bytes: [UInt8]) -> [UInt8]? {
    var wire: [UInt8] = []
    COBS.encode(bytes, into: &wire)
    #expect(wire.count <= COBS.encodedBound(bytes.count) + 1)
    #expect(wire.firstIndex(of: 0) == wire.count - 1)
    wire.removeLast()
    return COBS.decode(&wire) ? wire : nil
  }

  @Test(
    "COBS decodes what it encodes for runs near its longest run of 254 bytes",
    arguments: [0, 1, 2, 252, 253, 254, 255, 256, 507, 508, 509, 762, 763])
  func runs(_ length: Int) {
    let run = [UInt8](repeating: 0xAB, count: length)
    for bytes in [run, run + [0], [0] + run, run + [0] + run, run + [0, 0]] { #expect(roundTrip(bytes) == bytes) }
  }

  @Test("COBS decodes what it encodes for input of only zeros", arguments: [1, 7, 8, 9, 254, 300])
  func zeros(_ length: Int) {
    #expect(roundTrip([UInt8](repeating: 0, count: length)) == [UInt8](repeating: 0, count: length))
  }

  @Test("COBS decodes what it encodes for random input")
  func random() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<500 {
      // Few values, so that zeros and long runs are both frequent.
      let values = UInt64.random(in: 1...300, using: &random)
      let bytes = (0..<Int.random(in: 0...1200, using: &random)).map { _ in
        UInt8(truncatingIfNeeded: min(UInt64.random(in: 0...values, using: &random), 255))
      }
      #expect(roundTrip(bytes) == bytes)
    }
  }

  @Test(
    "the COBS decoder rejects input that no encoder writes",
    arguments: [[], [2], [255, 1, 1], [3, 1, 1, 9]] as [[UInt8]])
  func refusal(_ bytes: [UInt8]) {
    var bytes = bytes
    #expect(!COBS.decode(&bytes))
  }
}

@Suite("CRC-32C")
struct CRC32CTests {
  @Test("CRC-32C has the check value of its catalogue entry")
  func checkValue() {
    var checksum = CRC32C()
    checksum.update(Array("123456789".utf8))
    #expect(checksum.value == 0xE306_9283)
  }

  @Test("CRC-32C has the values of RFC 3720 B.4")
  func iscsi() {
    let vectors: [([UInt8], UInt32)] = [
      ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
      (Array(0..<32), 0x46DD_794E), ((0..<32).reversed(), 0x113F_DB5C),
    ]
    for (bytes, value) in vectors {
      var checksum = CRC32C()
      checksum.update(bytes)
      #expect(checksum.value == value)
    }
  }

  @Test("CRC-32C does not depend on how the input is split")
  func pieces() {
    let bytes = (0..<100).map { UInt8($0 * 37 & 0xFF) }
    var whole = CRC32C()
    whole.update(bytes)
    for cut in 0...100 {
      var parts = CRC32C()
      parts.update(Array(bytes[..<cut]))
      parts.update(Array(bytes[cut...]))
      #expect(parts.value == whole.value)
    }
  }
}

@Suite("Deframer")
struct DeframerTests {
  private func runs(_ deframer: inout Deframer, _ bytes: [UInt8]) -> [[UInt8]?] {
    bytes.withUnsafeBytes { deframer.receive($0) }
  }

  @Test("the deframer finds the same frames however the bytes are split")
  func cuts() {
    let bytes: [UInt8] = [0, 1, 2, 3, 0, 0, 4, 0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 0, 14, 0]
    var whole = Deframer(limit: 8)
    let expected = runs(&whole, bytes)
    #expect(expected == [[1, 2, 3], [4], nil, [14]])
    for size in 1...bytes.count {
      var deframer = Deframer(limit: 8)
      var found: [[UInt8]?] = []
      for start in stride(from: 0, to: bytes.count, by: size) {
        found += runs(&deframer, Array(bytes[start..<min(start + size, bytes.count)]))
      }
      #expect(found == expected)
    }
  }

  @Test("if a frame never ends, the deframer keeps no more than the longest frame")
  func endless() {
    var deframer = Deframer(limit: 100)
    for _ in 0..<10_000 {
      #expect(runs(&deframer, [UInt8](repeating: 7, count: 60)).isEmpty)
      #expect(deframer.heldBytes <= 100)
    }
    #expect(runs(&deframer, [0, 9, 0]) == [nil, [9]])
  }

  @Test("after an interruption, the deframer discards the partial frame")
  func reset() {
    var deframer = Deframer(limit: 100)
    #expect(runs(&deframer, [1, 2, 3]).isEmpty)
    deframer.reset()
    #expect(runs(&deframer, [4, 0]) == [[4]])
  }
}
