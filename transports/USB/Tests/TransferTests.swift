import Testing

@testable import USBTransport

@Suite struct TransferTests {
  @Test("a transfer whose length is a multiple of 64 leaves its last byte to the next one")
  func cutter() {
    var cutter = TransferCutter()
    func cut(_ bytes: [UInt8]) -> Int { bytes.withUnsafeBytes { cutter.cut($0) } }
    #expect(cut(Array(0..<63)) == 63 && cutter.carried == nil)
    #expect(cut(Array(0..<64)) == 63 && cutter.carried == 63)
    #expect(cut([63]) == 1 && cutter.carried == nil)
    #expect(cut(Array(repeating: 7, count: 16_383)) == 16_383 && cutter.carried == nil)
    #expect(cut(Array(repeating: 7, count: 512)) == 511 && cutter.carried == 7)
    #expect(cut([7] + Array(repeating: 8, count: 127)) == 127 && cutter.carried == 8)
  }

  @Test("received transfers are delivered in the order of their start, and their buffers are used again")
  func ring() {
    var ring = TransferRing(count: 3)
    #expect(ring.next == nil && ring.delivered(1) == nil)
    ring.filled(1, count: 4)
    #expect(ring.next == nil)
    ring.filled(0, count: 10)
    #expect(ring.next?.slot == 0 && ring.next?.range == 0..<10)
    #expect(ring.delivered(4) == nil && ring.next?.range == 4..<10)
    #expect(ring.delivered(6) == 0 && ring.next?.slot == 1)
    #expect(ring.delivered(4) == 1 && ring.next == nil)
    ring.filled(2, count: 0)
    #expect(ring.next?.range.isEmpty == true && ring.delivered(0) == 2)
    // All are receiving again.
    #expect(ring.next == nil && ring.delivered(0) == nil)
    ring.filled(0, count: 1)
    #expect(ring.next?.slot == 0)
  }
}
