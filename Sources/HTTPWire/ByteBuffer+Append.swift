package import NIOCore

extension ByteBuffer {
  /// The same as `writeBytes`, which is written for any sequence, at half its price.
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
