import BywayHTTPWire
import NIOCore
import Testing

@Suite("Bytes that wait") struct WaitingBytesTests {
  /// Returns a piece at the start of a larger receive buffer.
  private func packet(_ count: Int, of storage: Int) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.reserveCapacity(storage)
    bytes.writeRepeatingByte(UInt8(truncatingIfNeeded: count), count: count)
    return bytes
  }

  private func storage(_ pieces: some Sequence<ByteBuffer>) -> Int {
    pieces.reduce(0) { $0 + $1.storageCapacity }
  }

  @Test("a queue of one-byte packets takes little more memory than its bytes")
  func singleBytes() {
    var array: [ByteBuffer] = []
    var queue = CircularBuffer<ByteBuffer>()
    var sent: [UInt8] = []
    for index in 0..<10_000 {
      var byte = packet(1, of: 2048)
      byte.setInteger(UInt8(truncatingIfNeeded: index), at: 0)
      sent.append(UInt8(truncatingIfNeeded: index))
      array.keep(byte)
      queue.keep(byte)
    }
    #expect(array.flatMap(\.readableBytesView) == sent && queue.flatMap(\.readableBytesView) == sent)
    #expect(storage(array) < 20_000 && storage(queue) < 20_000)
  }

  @Test("a long piece of a larger receive buffer is copied only if others wait before it")
  func longPieces() {
    var queue = CircularBuffer<ByteBuffer>()
    queue.keep(packet(5000, of: 65_536))
    #expect(storage(queue) == 65_536)
    queue.keep(packet(5000, of: 65_536))
    #expect(storage(queue) < 65_536 + 10_000)
    #expect(queue.map(\.readableBytes) == [5000, 5000])
  }

  @Test("bytes that are read while more are added do not take more and more memory")
  func turnover() {
    var bytes = packet(10, of: 1024)
    for _ in 0..<10_000 {
      let isGathered = bytes.gather(packet(10, of: 1024))
      #expect(isGathered)
      bytes.moveReaderIndex(forwardBy: 10)
    }
    #expect(bytes.readableBytes == 10 && bytes.storageCapacity <= 1024)
  }
}
