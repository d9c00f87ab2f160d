import Byway
import CBywayZlib
package import NIOCore

/// A decoder of gzip and of deflate. Its memory stays small, whatever the size of the result.
package final class GzipDecoder: BodyCoder {
  package enum Format: Sendable {
    /// RFC 1952.
    case gzip
    /// HTTP's `deflate` is zlib's format (RFC 9110 §8.4.1.2). Some servers send the compressed bytes without its header.
    case deflate

    /// Returns the format and the size of its window in zlib's notation. A window may always have the largest size.
    fileprivate func windowBits(for first: UInt8) -> CInt {
      switch self {
      case .gzip: 15 + 16
      // RFC 1950 §2.2: the method is 8. Without a header these bits begin a stored block, with padding that no encoder makes.
      case .deflate: first & 0x0F == 8 ? 15 : -15
      }
    }
  }

  /// The approximate output of one step, in bytes.
  private static let quantum = 64 * 1024

  private let format: Format
  private let expected: Int?
  private let subject: String
  private let stream = ZlibStream()
  private var isOpen = false
  private var isWhole = false
  private var count = 0

  /// - Parameters:
  ///   - expected: The total number of bytes, if known.
  ///   - subject: The beginning of error messages: "The body".
  package init(_ format: Format = .gzip, expecting expected: Int?, of subject: String) {
    self.format = format
    self.expected = expected
    self.subject = subject
  }

  deinit {
    if isOpen { inflateEnd(stream.pointer) }
  }

  /// Restores as much as possible of data that may be cut off, 4 MiB at most.
  /// - Returns: `nil` if the data is damaged.
  static func beginning(of bytes: ByteBuffer) -> ByteBuffer? {
    let decoder = GzipDecoder(expecting: nil, of: "The record")
    var rest = bytes
    var result = ByteBuffer()
    do {
      while rest.readableBytes > 0, result.readableBytes < 4 << 20, !decoder.isWhole {
        let before = (rest.readableBytes, result.readableBytes)
        try decoder.code(&rest, into: &result)
        if before == (rest.readableBytes, result.readableBytes) { break }
      }
      var last = -1
      while !decoder.isWhole, result.readableBytes < 4 << 20, last != result.readableBytes {
        last = result.readableBytes
        _ = try decoder.flush(into: &result)
      }
      return result
    } catch {
      return nil
    }
  }

  package func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws {
    guard let first = bytes.readableBytesView.first else { return }
    try open(first)
    guard !isWhole else { throw failure("goes on after its end") }
    try bytes.readWithUnsafeReadableBytes { input in
      try stream.reading(input) { try run(into: &result) }
    }
  }

  /// It may still hold some output of the bytes that it has taken.
  package func flush(into result: inout ByteBuffer) throws -> Bool {
    if isOpen, !isWhole { try run(into: &result) }
    return false
  }

  private func run(into result: inout ByteBuffer) throws {
    let before = result.readableBytes
    var code = Z_OK
    var isFull = true
    while code == Z_OK, isFull, result.readableBytes - before < Self.quantum {
      (code, isFull) = stream.writing(into: &result) { inflate($0, Z_NO_FLUSH) }
    }
    count += result.readableBytes - before
    switch code {
    case Z_OK, Z_BUF_ERROR: break
    case Z_STREAM_END: isWhole = true
    default: throw failure("was damaged")
    }
    if let expected, count > expected { throw failure("is longer than it said") }
  }

  package func finish(into result: inout ByteBuffer) throws {
    // An empty body was never begun.
    guard isWhole || count == 0 && !isOpen else { throw failure("ended too early") }
    if let expected, count < expected { throw failure("is shorter than it said") }
  }

  private func open(_ first: UInt8) throws {
    guard !isOpen else { return }
    isOpen = zlib_inflate_init(stream.pointer, format.windowBits(for: first)) == Z_OK
    guard isOpen else { throw BywayError(.handlerFailed, "There is no memory to restore a compressed body with.") }
  }

  private func failure(_ what: String) -> BywayError {
    BywayError(.incompleteResponse, "\(subject) \(what).")
  }
}
