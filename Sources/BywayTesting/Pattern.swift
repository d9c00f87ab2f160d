import BywayLibC
import NIOCore

/// Bytes that identify their position in a stream: a pseudo-random sequence of a prime length, repeated.
///
/// Created once and then sliced, so that even a debug build checks about as fast as memory can be compared.
struct Pattern: Sendable {
  /// The maximum size of one slice or comparison.
  static let sliceLimit = 1 << 18

  private static let period = 1_048_573
  private static let bytes: ByteBuffer = {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    var buffer = ByteBuffer()
    buffer.reserveCapacity(period + sliceLimit + 8)
    while buffer.writerIndex < period {
      state ^= state << 13
      state ^= state >> 7
      state ^= state << 17
      buffer.writeInteger(state)
    }
    buffer.moveWriterIndex(to: period)
    if let start = buffer.getSlice(at: 0, length: sliceLimit) { buffer.writeImmutableBuffer(start) }
    return buffer
  }()

  /// Streams with different seeds differ at every position.
  let seed: Int

  init(seed: Int = 0) {
    self.seed = seed * 16_411
  }

  func slice(at offset: Int, count: Int) -> ByteBuffer {
    let start = (seed + offset) % Self.period
    return Self.bytes.getSlice(at: start, length: min(count, Self.sliceLimit)) ?? ByteBuffer()
  }

  /// Whether a buffer equals the stream at that offset.
  func matches(_ buffer: ByteBuffer, at offset: Int) -> Bool {
    var offset = offset
    var rest = buffer
    while let piece = rest.readSlice(length: min(rest.readableBytes, Self.sliceLimit)), piece.readableBytes > 0 {
      let expected = slice(at: offset, count: piece.readableBytes)
      let isEqual = piece.withUnsafeReadableBytes { left in
        expected.withUnsafeReadableBytes { right in
          guard let left = left.baseAddress, let right = right.baseAddress else { return false }
          return memcmp(left, right, piece.readableBytes) == 0
        }
      }
      guard isEqual else { return false }
      offset += piece.readableBytes
    }
    return true
  }
}
