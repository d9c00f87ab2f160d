/// Bytes that the owner has written and that are not in a frame yet.
struct PendingBytes {
  private var bytes: [UInt8] = []
  private var head = 0

  var count: Int { bytes.count - head }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ more: UnsafeRawBufferPointer) {
    bytes.append(contentsOf: more)
  }

  mutating func take(_ limit: Int) -> [UInt8] {
    let end = head + min(limit, count)
    let piece = Array(bytes[head..<end])
    head = end
    if head == bytes.count {
      bytes.removeAll(keepingCapacity: true)
      head = 0
    } else if head >= 65_536 {
      bytes.removeFirst(head)
      head = 0
    }
    return piece
  }
}
