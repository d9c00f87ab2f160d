import NIOCore

/// Sizes a connection's reads: by what the last ones brought, and never beyond what its owner can take.
///
/// `@unchecked Sendable`: the bound is touched on the channel's event loop only.
struct BoundedReads: RecvByteBufferAllocator, @unchecked Sendable {
  final class Bound {
    var bytes = Int.max
  }

  private static let smallest = 1024

  let bound = Bound()
  private var adaptive = AdaptiveRecvByteBufferAllocator(minimum: smallest, initial: 2048, maximum: 64 * 1024)

  /// A buffer of the usual size may be used again; one that must be smaller is made for the occasion.
  func nextBufferSize() -> Int? {
    bound.bytes >= adaptive.maximum ? adaptive.nextBufferSize() : nil
  }

  func buffer(allocator: ByteBufferAllocator) -> ByteBuffer {
    // A buffer's capacity is rounded up to a power of two, and a read fills all of it.
    var size = adaptive.nextBufferSize() ?? adaptive.initial
    while size > bound.bytes, size > Self.smallest { size /= 2 }
    return allocator.buffer(capacity: size)
  }

  mutating func record(actualReadBytes: Int) -> Bool {
    adaptive.record(actualReadBytes: actualReadBytes)
  }
}
