import HTTP1Session
import NIOCore

/// The sending direction of an HTTP/1.1 connection: flushed once for each turn of the loop, and paced by what the channel
/// has room for.
///
/// Lives on the channel's event loop.
final class HTTP1Output {
  /// Chunks up to this size are copied between their framing, larger ones are sent separately.
  private static let copyLimit = 4096

  private let channel: any Channel
  private var isFlushScheduled = false
  /// Bytes of content that were sent and not reported yet.
  private(set) var uncredited = 0

  init(_ channel: any Channel) {
    self.channel = channel
  }

  /// - Parameter isLast: nothing more is on its way, so nothing is gained by waiting.
  func send(_ bytes: ByteBuffer, isLast: Bool = false) {
    channel.write(bytes, promise: nil)
    guard !isLast else { return channel.flush() }
    guard !isFlushScheduled else { return }
    isFlushScheduled = true
    channel.eventLoop.assumeIsolated().execute {
      self.isFlushScheduled = false
      self.channel.flush()
    }
  }

  /// Sends a piece of content, framed as the head said.
  func sendContent(_ bytes: ByteBuffer, by encoder: inout some MessageEncoder) throws(HTTP1Failure) {
    if encoder.framing == .chunked, bytes.readableBytes <= Self.copyLimit {
      var chunk = channel.allocator.buffer(capacity: bytes.readableBytes + 8)
      try encoder.writeBody(bytes, into: &chunk)
      send(chunk)
    } else {
      var framing = ByteBuffer()
      try encoder.writeBodyPrefix(count: bytes.readableBytes, into: &framing)
      if framing.readableBytes > 0 { send(framing) }
      send(bytes)
      framing.clear()
      encoder.writeBodySuffix(into: &framing)
      if framing.readableBytes > 0 { send(framing) }
    }
    uncredited += bytes.readableBytes
  }

  /// Bytes of content that whoever wrote them may write once more; none while the channel is full.
  func takeCredit() -> Int {
    guard channel.isWritable else { return 0 }
    defer { uncredited = 0 }
    return uncredited
  }

  /// Another message begins.
  func forgetCredit() {
    uncredited = 0
  }
}
