package import NIOCore

/// Sizes a connection's reads: by what the last ones brought, and never beyond what its owner can take.
///
/// `@unchecked Sendable`: the bound is touched on the channel's event loop only.
package struct BoundedReads: RecvByteBufferAllocator, @unchecked Sendable {
  package final class Bound {
    package var bytes = Int.max
  }

  private static let smallest = 1024

  package let bound = Bound()
  private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: smallest, initial: 2048, maximum: 64 * 1024)

  package init() {}

  /// A buffer of the usual size may be used again; one that must be smaller is made for the occasion.
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
