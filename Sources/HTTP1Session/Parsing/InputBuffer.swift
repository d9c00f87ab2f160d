import HTTPWire
import NIOCore

/// The received bytes that no event has delivered yet.
///
/// Examines no byte twice while it waits for the end of a line, so a head that arrives byte by byte costs no more than one that
/// arrives at once.
struct InputBuffer: Sendable {
  private var bytes = ByteBuffer()
  /// The number of readable bytes known to contain no line feed.
  private var scanned = 0
  private(set) var hasEnded = false

  var isEmpty: Bool { bytes.readableBytes == 0 }
  var count: Int { bytes.readableBytes }

  mutating func receive(_ more: consuming ByteBuffer) {
    if isEmpty {
      bytes = more
      scanned = 0
    } else {
      // Moves each byte at most once, and prevents a half-read line from keeping earlier bytes in memory.
      if bytes.readerIndex > bytes.readableBytes { bytes.discardReadBytes() }
      bytes.writeImmutableBuffer(more)
    }
  }

  mutating func receiveEnd() {
    hasEnded = true
  }

  /// Reads one line that ends in CRLF, and passes it on without the CRLF. Returns `nil` while it is incomplete.
  ///
  /// RFC 9112 §2.2 lets a recipient accept a lone LF as a line end. Recipients that disagree about it make request smuggling
  /// possible, so it is refused here.
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
      // Checked first, as when the line feed has not arrived yet: the error must not depend on how the bytes are split.
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

  /// Reads a slice of the available bytes.
  mutating func readBody(atMost maximum: Int) -> ByteBuffer? {
    guard !isEmpty, maximum > 0 else { return nil }
    scanned = 0
    return bytes.readSlice(length: min(maximum, bytes.readableBytes))
  }

  /// Frees the storage, so that an idle connection does not keep the buffer of its last message.
  mutating func releaseStorage() {
    if isEmpty { bytes = ByteBuffer() }
  }

  /// Passes the available bytes to a closure without consuming them.
  func peek<Result>(_ body: (UnsafeRawBufferPointer) throws(HTTP1Failure) -> Result) throws(HTTP1Failure) -> Result {
    try bytes.withUnsafeReadableBytes(body)
  }
}
