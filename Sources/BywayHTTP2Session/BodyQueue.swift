import BywayHTTPWire
import NIOCore

/// The body bytes of one stream that wait to be sent.
///
/// Most streams have one buffer at a time, so the first one is kept next to the array and costs no allocation.
struct BodyQueue {
  private(set) var byteCount = 0
  private(set) var front: ByteBuffer?
  private(set) var rest: CircularBuffer<ByteBuffer>?

  var isEmpty: Bool { byteCount == 0 }

  /// - Parameter isHeldUp: whether the bytes cannot be sent soon, so that they must not keep the storage that they were received in.
  mutating func append(_ bytes: ByteBuffer, isHeldUp: Bool = false) {
    guard bytes.readableBytes > 0 else { return }
    byteCount += bytes.readableBytes
    if front == nil {
      front = isHeldUp ? bytes.compact : bytes
    } else if rest?.isEmpty ?? true, front?.gather(bytes) ?? false {
      return
    } else {
      if rest == nil { rest = CircularBuffer(initialCapacity: 4) }
      rest?.keep(bytes)
    }
  }

  /// Frees the storage beyond the bytes, which have to wait.
  mutating func compact() {
    if let bytes = front { front = bytes.compact }
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
