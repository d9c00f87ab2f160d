package import BywayPrimitives
package import NIOCore

extension Descriptor {
  /// Reads the available bytes, at most `limit`; returns `nil` at the end.
  /// - Parameter position: the position in a file; `nil`: where the previous call has ended.
  package static func read(
    _ descriptor: CInt, upTo limit: Int, at position: Int? = nil
  ) throws(SystemError) -> ByteBuffer? {
    var buffer = ByteBufferAllocator().buffer(capacity: limit)
    var outcome = Result<Int, SystemError>.success(0)
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: limit) { bytes in
      outcome = Result { () throws(SystemError) in
        try read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: bytes.prefix(limit)), at: position)
      }
      return (try? outcome.get()) ?? 0
    }
    return try outcome.get() > 0 ? buffer : nil
  }

  /// Writes all bytes.
  /// - Parameter position: the position in a file; `nil`: where the previous call has ended.
  package static func write(_ bytes: ByteBuffer, to descriptor: CInt, at position: Int? = nil) throws(SystemError) {
    let outcome = bytes.withUnsafeReadableBytes { bytes in
      Result { () throws(SystemError) in try write(bytes, to: descriptor, at: position) }
    }
    try outcome.get()
  }
}
