import BywayHTTPWire
import NIOCore

/// The bytes that a connection has to send. Heads, framing and short pieces of content are collected in one buffer. Longer
/// pieces are passed on unchanged.
struct OutputQueue {
  /// The size up to which copying content is cheaper than writing it separately.
  private static let copyLimit = 4096
  private static let usualSize = 512

  private struct Piece {
    var bytes: ByteBuffer
    /// The number of these bytes that are content.
    var content: Int
  }

  private var pieces = CircularBuffer<Piece>(initialCapacity: 1)
  /// The last piece, to which small ones are still added.
  private var gathered = Piece(bytes: ByteBuffer(), content: 0)
  private(set) var byteCount = 0
  /// The number of bytes of content taken and not reported yet.
  private var credit = 0

  var isEmpty: Bool { byteCount == 0 }

  /// Appends bytes that are not content.
  mutating func append<Failure>(_ write: (inout ByteBuffer) throws(Failure) -> Void) throws(Failure) {
    // Allocates new storage if the channel still holds the taken bytes; otherwise reuses it.
    if gathered.bytes.readableBytes == 0 { gathered.bytes.clear(minimumCapacity: Self.usualSize) }
    let before = gathered.bytes.readableBytes
    try write(&gathered.bytes)
    byteCount += gathered.bytes.readableBytes - before
  }

  /// Appends a piece of the content, framed as the message's head declared.
  mutating func append(
    content: ByteBuffer, by encoder: inout some MessageEncoder
  ) throws(HTTP1Failure) {
    let count = content.readableBytes
    guard count > 0 else { return }
    if count <= Self.copyLimit {
      try append { buffer throws(HTTP1Failure) in try encoder.writeBody(content, into: &buffer) }
      gathered.content += count
    } else {
      try append { buffer throws(HTTP1Failure) in try encoder.writeBodyPrefix(count: count, into: &buffer) }
      seal()
      // Behind others, it may wait for long.
      pieces.append(Piece(bytes: pieces.isEmpty ? content : content.compact, content: count))
      byteCount += count
      append { buffer in encoder.writeBodySuffix(into: &buffer) }
    }
  }

  /// Counts content that must not be sent as sent.
  mutating func drop(content: ByteBuffer) {
    credit += content.readableBytes
  }

  /// Removes and returns the next bytes to send.
  mutating func next(maximum: Int) -> ByteBuffer? {
    if pieces.isEmpty {
      let count = gathered.bytes.readableBytes
      if count == 0 { return nil }
      if count <= maximum { return takeGathered(count) }
      seal()
    }
    guard var first = pieces.popFirst() else { return nil }
    guard first.bytes.readableBytes > maximum, let slice = first.bytes.readSlice(length: max(1, maximum)) else {
      take(first.bytes.readableBytes, content: first.content)
      return first.bytes
    }
    // Content within a collected piece is not tracked by position: it counts as the last to be sent.
    let content = max(0, first.content - first.bytes.readableBytes)
    first.content -= content
    pieces.prepend(first)
    take(slice.readableBytes, content: content)
    return slice
  }

  /// Returns the number of bytes of content that their writer may write again.
  mutating func takeCredit() -> Int {
    defer { credit = 0 }
    return credit
  }

  /// Stops counting the queued content, because no writer waits for it any more.
  mutating func stopCountingContent() {
    credit = 0
    gathered.content = 0
    if !pieces.isEmpty {
      for index in pieces.indices { pieces[index].content = 0 }
    }
  }

  mutating func removeAll() {
    self = OutputQueue()
  }

  private mutating func takeGathered(_ count: Int) -> ByteBuffer {
    take(count, content: gathered.content)
    gathered.content = 0
    let bytes = gathered.bytes
    if bytes.capacity > Self.usualSize {
      gathered.bytes = ByteBuffer()
    } else {
      gathered.bytes.moveReaderIndex(forwardBy: count)
    }
    return bytes
  }

  private mutating func take(_ bytes: Int, content: Int) {
    byteCount -= bytes
    credit += content
  }

  private mutating func seal() {
    guard gathered.bytes.readableBytes > 0 else { return }
    pieces.append(gathered)
    gathered = Piece(bytes: ByteBuffer(), content: 0)
  }
}
