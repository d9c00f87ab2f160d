import HTTPWire
import NIOCore

/// Received bytes that no event has carried yet.
///
/// Looks at no byte twice while it waits for the end of a line, so that a head that drips in costs what a whole one does.
struct InputBuffer: Sendable {
  private var bytes = ByteBuffer()
  /// So many readable bytes hold no line feed.
  private var scanned = 0
  private(set) var hasEnded = false

  var isEmpty: Bool { bytes.readableBytes == 0 }
  var count: Int { bytes.readableBytes }

  mutating func receive(_ more: consuming ByteBuffer) {
    if isEmpty {
      bytes = more
      scanned = 0
    } else {
      // Costs at most one move for each byte that was read, and keeps a half-read line from pinning what came before.
      if bytes.readerIndex > bytes.readableBytes { bytes.discardReadBytes() }
      bytes.writeImmutableBuffer(more)
    }
  }

  mutating func receiveEnd() {
    hasEnded = true
  }

  /// Reads one line that ends in CRLF and hands it over without; nil while it is incomplete.
  ///
  /// RFC 9112 §2.2 lets a recipient take a lone LF for a line end. Peers that do and peers that do not are how requests
  /// are smuggled, so it is refused here.
  mutating func readLine<Result>(
    limit: Int, tooLong: @autoclosure () -> HTTP1Failure,
    _ body: (UnsafeRawBufferPointer) throws(HTTP1Failure) -> Result
  ) throws(HTTP1Failure) -> Result? {
    let start = scanned
    var lineEnd: Int?
    let result: Result? = try bytes.withUnsafeReadableBytes { bytes throws(HTTP1Failure) in
      guard let lineFeed = bytes.firstOffset(of: UInt8(ascii: "\n"), from: start) else {
        if bytes.count > limit + 1 { throw tooLong() }
        return nil
      }
      // First, as where the line feed has not come yet: a peer is told the same however its bytes are cut.
      if lineFeed > limit + 1 { throw tooLong() }
      guard lineFeed > 0, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
        throw .malformed("A line ends in LF without CR.")
      }
      lineEnd = lineFeed + 1
      return try body(UnsafeRawBufferPointer(rebasing: bytes[..<(lineFeed - 1)]))
    }
    guard let lineEnd else {
      scanned = bytes.readableBytes
      return nil
    }
    bytes.moveReaderIndex(forwardBy: lineEnd)
    scanned = 0
    return result
  }

  /// A slice of what is there.
  mutating func readBody(atMost maximum: Int) -> ByteBuffer? {
    guard !isEmpty, maximum > 0 else { return nil }
    scanned = 0
    return bytes.readSlice(length: min(maximum, bytes.readableBytes))
  }

  /// An idle connection should not hold on to the buffer that its last message came in.
  mutating func releaseStorage() {
    if isEmpty { bytes = ByteBuffer() }
  }

  /// Gives a look at what is there without reading it.
  func peek<Result>(_ body: (UnsafeRawBufferPointer) throws(HTTP1Failure) -> Result) throws(HTTP1Failure) -> Result {
    try bytes.withUnsafeReadableBytes(body)
  }
}
