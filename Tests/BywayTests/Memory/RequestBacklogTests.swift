import BywayHTTPWire
import NIOCore
import Testing

@testable import Byway

@Suite("Kept part of a request") struct RequestBacklogTests {
  private func packet(_ count: Int) -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.reserveCapacity(2048)
    bytes.writeRepeatingByte(1, count: count)
    return bytes
  }

  @Test("a body of one-byte packets that waits takes little more memory than its bytes")
  func singleBytes() {
    var backlog = RequestBacklog(isComplete: false)
    for _ in 0..<10_000 { backlog.append(packet(1), isSent: false) }
    let chunks = backlog.takeUnsent().chunks
    #expect(chunks.reduce(0) { $0 + $1.readableBytes } == 10_000)
    #expect(chunks.reduce(0) { $0 + $1.storageCapacity } < 20_000)
  }

  @Test("trailers are sent with a body too large to be kept, and are not kept afterwards")
  func trailers() {
    let trailers: FieldSection = ["x-end": "1"]
    var backlog = RequestBacklog(isComplete: false, replayLimit: 1000)
    backlog.append(packet(2000), isSent: false)
    backlog.finish(trailers: trailers)
    #expect(backlog.takeUnsent().trailers == trailers)
    #expect(backlog.isComplete && !backlog.isWhole && backlog.trailers == nil)
    var late = RequestBacklog(isComplete: false)
    late.drop()
    late.finish(trailers: trailers)
    #expect(late.isComplete && late.trailers == nil)
  }
}
