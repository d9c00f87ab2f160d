/// Bytes that wait for the wire, first in, first out.
struct TransmitQueue: Sendable {
  private var bytes: [UInt8] = []
  private var head = 0

  var count: Int { bytes.count - head }
  var isEmpty: Bool { count == 0 }

  mutating func append(_ new: some Collection<UInt8>) {
    if head > 4096, head > bytes.count / 2 {
      bytes.removeFirst(head)
      head = 0
    }
    bytes.append(contentsOf: new)
  }

  mutating func removeFirst(_ count: Int) -> ArraySlice<UInt8> {
    defer { head += count }
    return bytes[head..<head + count]
  }

  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
    head = 0
  }
}
