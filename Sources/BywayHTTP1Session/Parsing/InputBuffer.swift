import BywayHTTPWire
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
    var result: Result?
    _ = try readLines(limit: limit, tooLong: tooLong()) { line throws(HTTP1Failure) in
      result = try body(line)
      return nil
    }
    return result
  }

  /// Reads lines as ``readLine(limit:tooLong:_:)`` does.
  /// - Parameters:
  ///   - limit: the maximum length of the first line.
  ///   - body: Gets each line, and returns the maximum length of the next one; `nil` after the last line.
  /// - Returns: whether the last line was read; if not, the next one is incomplete.
  mutating func readLines(
    limit: Int, tooLong: @autoclosure () -> HTTP1Failure,
    _ body: (UnsafeRawBufferPointer) throws(HTTP1Failure) -> Int?
  ) throws(HTTP1Failure) -> Bool {
    var limit: Int? = limit
    var (start, unscanned) = (0, scanned)
    try bytes.withUnsafeReadableBytes { bytes throws(HTTP1Failure) in
      while let room = limit {
        guard let lineFeed = bytes.firstOffset(of: UInt8(ascii: "\n"), from: unscanned) else {
          if bytes.count - start > room + 1 { throw tooLong() }
          unscanned = bytes.count
          return
        }
        // Checked first, as when the line feed has not arrived yet: the error must not depend on how the bytes are split.
        if lineFeed - start > room + 1 { throw tooLong() }
        guard lineFeed > start, bytes[lineFeed - 1] == UInt8(ascii: "\r") else {
          throw .malformed("A line ends in LF without CR.")
        }
        limit = try body(UnsafeRawBufferPointer(rebasing: bytes[start..<(lineFeed - 1)]))
        (start, unscanned) = (lineFeed + 1, lineFeed + 1)
      }
    }
    bytes.moveReaderIndex(forwardBy: start)
    scanned = unscanned - start
    return limit == nil
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
