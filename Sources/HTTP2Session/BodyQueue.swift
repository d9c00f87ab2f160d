import HTTPWire
import NIOCore

/// The body bytes of one stream that wait to be sent.
///
/// Most streams have one buffer at a time, so the first one is kept next to the array and costs no allocation.
struct BodyQueue {
  private(set) var byteCount = 0
  private var front: ByteBuffer?
  private var rest: CircularBuffer<ByteBuffer>?

  var isEmpty: Bool { byteCount == 0 }

  mutating func append(_ bytes: ByteBuffer) {
    guard bytes.readableBytes > 0 else { return }
    byteCount += bytes.readableBytes
    if front == nil {
      front = bytes
    } else {
      if rest == nil { rest = CircularBuffer(initialCapacity: 4) }
      rest?.append(bytes)
    }
  }

  /// Moves `count` bytes, which must be present, to the end of `output`.
  mutating func move(_ count: Int, into output: inout ByteBuffer) {
    var left = min(count, byteCount)
    byteCount -= left
    while left > 0 {
      let moved = front?.readWithUnsafeReadableBytes { bytes in
        let portion = UnsafeRawBufferPointer(rebasing: bytes.prefix(left))
        output.append(portion)
        return portion.count
      }
      guard let moved else { return }
      left -= moved
      if front?.readableBytes == 0 { front = rest?.popFirst() }
    }
  }

  mutating func removeAll() {
    self = BodyQueue()
  }
}
