import BywayHTTPWire
import NIOCore
import Testing

@testable import BywayHTTP2Session

@Suite("Queue of body bytes") struct BodyQueueTests {
  private func byte() -> ByteBuffer {
    var bytes = ByteBuffer()
    bytes.reserveCapacity(2048)
    bytes.writeInteger(UInt8(1))
    return bytes
  }

  private func storage(_ queue: BodyQueue) -> Int {
    (queue.front?.storageCapacity ?? 0) + (queue.rest ?? []).reduce(0) { $0 + $1.storageCapacity }
  }

  @Test("bytes of single-byte frames that wait for a window take little more memory than their number")
  func singleBytes() {
    var queue = BodyQueue()
    for _ in 0..<10_000 { queue.append(byte()) }
    #expect(storage(queue) < 20_000)
    var output = ByteBuffer()
    queue.move(9000, into: &output)
    for _ in 0..<100 { queue.append(byte()) }
    queue.move(1100, into: &output)
    #expect(queue.isEmpty && output.readableBytes == 10_100)
    #expect(output.readableBytesView.allSatisfy { $0 == 1 })
  }

  @Test("a byte that waits for a stream's window does not keep its large buffer in memory")
  func closedWindow() {
    let client = RawClient(settings: [(4, 0)])
    client.answers = false
    client.send(.get(1), .get(3))
    for id in [1, 3] as [StreamID] { client.server.submitResponse(id, [":status": "200"], endStream: false) }
    client.turn()
    var large = ByteBuffer()
    large.reserveCapacity(65_536)
    large.writeInteger(UInt8(1))
    client.server.write(1, large)
    client.turn()
    #expect(client.server.streams[1].map { storage($0.body) < 4096 } == true)
    client.server.write(1, large)
    client.turn()
    #expect(client.server.streams[1].map { storage($0.body) < 4096 } == true)
    #expect(client.server.streams[1]?.body.byteCount == 2)
  }
}
