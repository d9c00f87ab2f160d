package import NIOCore

/// Pieces that wait must not keep the much larger storage that they were received in: one byte for each packet would keep a kilobyte.
/// So they are copied together. A first piece usually passes straight through, and is not copied.
extension ByteBuffer {
  /// The size up to which pieces are copied together.
  private static let gatheredSize = 4 * 1024
  /// The size of pieces whose management costs more than a copy.
  private static let tinySize = 512
  /// The size of storage that is kept even for a single byte.
  private static let usualStorage = 4 * 1024

  /// Whether its storage is much larger than its content.
  private var isSparse: Bool { storageCapacity / 4 > readableBytes }

  /// Returns the same bytes without the rest of a large storage.
  package var compact: ByteBuffer {
    guard isSparse, storageCapacity > Self.usualStorage else { return self }
    var copy = ByteBuffer()
    copy.reserveCapacity(readableBytes)
    copy.writeImmutableBuffer(self)
    return copy
  }

  /// Appends a piece that waits behind this one, if it is small or keeps a large storage.
  /// - Returns: whether it was appended; if not, it is a buffer of its own.
  package mutating func gather(_ piece: ByteBuffer) -> Bool {
    guard piece.readableBytes < Self.tinySize || piece.isSparse,
      readableBytes + piece.readableBytes <= Self.gatheredSize
    else { return false }
    if readerIndex > readableBytes { discardReadBytes() }
    writeImmutableBuffer(piece)
    return true
  }
}

extension [ByteBuffer] {
  /// Appends a piece that waits for long.
  package mutating func keep(_ piece: ByteBuffer) {
    if !isEmpty, self[count - 1].gather(piece) { return }
    append(piece.compact)
  }
}

extension CircularBuffer<ByteBuffer> {
  /// Appends a piece. It is copied only if another one waits before it.
  package mutating func keep(_ piece: ByteBuffer) {
    // Taken out, so that its storage is not shared while it is written to.
    guard var last = popLast() else { return append(piece) }
    let isGathered = last.gather(piece)
    append(last)
    if !isGathered { append(piece.compact) }
  }
}
