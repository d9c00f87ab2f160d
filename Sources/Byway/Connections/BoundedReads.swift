package import NIOCore

/// The sizes of a connection's reads: adapted to the previous ones, and limited to what its owner can take.
///
/// `@unchecked Sendable`: the bound is used on the channel's event loop only.
package struct BoundedReads: RecvByteBufferAllocator, @unchecked Sendable {
  package final class Bound {
    package var bytes = Int.max
  }

  private static let smallest = 1024

  package let bound = Bound()
  private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: smallest, initial: 2048, maximum: 64 * 1024)

  package init() {}

  /// A buffer of the usual size may be reused; a smaller one is allocated when needed.
  package func nextBufferSize() -> Int? {
    bound.bytes >= adaptive.maximum ? adaptive.nextBufferSize() : nil
  }

  package func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
    // A buffer's capacity is rounded up to a power of two, and a read fills all of it.
    var size = adaptive.nextBufferSize() ?? adaptive.initial
    while size > bound.bytes, size > Self.smallest { size /= 2 }
    return allocator.buffer(capacity: size)
  }

  package mutating func record(actualReadBytes: Int) -> Bool {
    adaptive.record(actualReadBytes: actualReadBytes)
  }
}
