import HTTPWire
import NIOCore

/// What a connection has to send. Heads, framing and short pieces of content are gathered in one buffer; longer pieces are
/// handed over as they came.
struct OutputQueue {
  /// Content up to this size is cheaper to copy than to write apart.
  private static let copyLimit = 4096
  private static let usualSize = 512

  private struct Piece {
    var bytes: ByteBuffer
    /// How many of them are content.
    var content: Int
  }

  private var pieces = CircularBuffer<Piece>(initialCapacity: 1)
  /// The last piece, to which small ones are still added.
  private var gathered = Piece(bytes: ByteBuffer(), content: 0)
  private(set) var byteCount = 0
  /// Bytes of content that have been taken and not told of yet.
  private var credit = 0

  var isEmpty: Bool { byteCount == 0 }

  /// Adds what is not content.
  mutating func append<Failure>(_ write: (inout ByteBuffer) throws(Failure) -> Void) throws(Failure) {
    // Where the channel still holds what was taken, this makes new storage; else it serves again.
    if gathered.bytes.readableBytes == 0 { gathered.bytes.clear(minimumCapacity: Self.usualSize) }
    let before = gathered.bytes.readableBytes
    try write(&gathered.bytes)
    byteCount += gathered.bytes.readableBytes - before
  }

  /// Adds a piece of the content, framed as the message's head said.
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
      pieces.append(Piece(bytes: content, content: count))
      byteCount += count
      append { buffer in encoder.writeBodySuffix(into: &buffer) }
    }
  }

  /// Content that has no place on the wire is as good as gone.
  mutating func drop(content: ByteBuffer) {
    credit += content.readableBytes
  }

  /// Takes what goes on the wire next.
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
    // What is gathered is not told apart: its content counts as the last to leave.
    let content = max(0, first.content - first.bytes.readableBytes)
    first.content -= content
    pieces.prepend(first)
    take(slice.readableBytes, content: content)
    return slice
  }

  /// Bytes of content that whoever wrote them may write once more.
  mutating func takeCredit() -> Int {
    defer { credit = 0 }
    return credit
  }

  /// Nobody waits any more to hear of the content that is here.
  mutating func forgetContent() {
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
