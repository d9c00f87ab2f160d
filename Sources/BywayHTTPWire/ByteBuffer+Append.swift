package import NIOCore

extension ByteBuffer {
  /// Appends bytes. This takes half the time of `writeBytes`, which accepts any sequence.
  package mutating func append(_ bytes: UnsafeRawBufferPointer) {
    writeWithUnsafeMutableBytes(minimumWritableBytes: bytes.count) { room in
      room.copyMemory(from: bytes)
      return bytes.count
    }
  }

  package mutating func append(_ text: StaticString) {
    append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }
}
