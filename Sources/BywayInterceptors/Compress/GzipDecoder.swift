import Byway
import CZlib
import NIOCore

/// Restores what ``GzipEncoder`` has compressed. Memory stays small whatever the bytes would become.
final class GzipDecoder: BodyCoder {
  /// Bytes of output in one step, about.
  private static let quantum = 64 * 1024
  /// Any window, in gzip's format (zlib's manual).
  private static let format: CInt = 15 + 16

  private let expected: Int?
  private let message: String
  private let stream = ZlibStream()
  private var isOpen = false
  private var isWhole = false
  private var count = 0

  /// - Parameters:
  ///   - expected: bytes in all, where that is known.
  ///   - message: "request" or "response", for errors.
  init(expecting expected: Int?, of message: String) {
    self.expected = expected
    self.message = message
  }

  deinit {
    if isOpen { inflateEnd(stream.pointer) }
  }

  /// As much as can be restored of something that may have been cut off, 4 MiB at most.
  /// - Returns: `nil` where it is damaged.
  static func beginning(of bytes: ByteBuffer) -> ByteBuffer? {
    let decoder = GzipDecoder(expecting: nil, of: "record")
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
        try decoder.flush(into: &result)
      }
      return result
    } catch {
      return nil
    }
  }

  func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws {
    try open()
    guard !isWhole else { throw failure("goes on after its end") }
    try bytes.readWithUnsafeReadableBytes { input in
      try stream.reading(input) { try run(into: &result) }
    }
  }

  /// Of what it has taken it may still hold a little.
  func flush(into result: inout ByteBuffer) throws {
    if !isWhole { try run(into: &result) }
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

  func finish(into result: inout ByteBuffer) throws {
    // What holds nothing was never begun.
    guard isWhole || count == 0 && !isOpen else { throw failure("ended too early") }
    if let expected, count < expected { throw failure("is shorter than it said") }
  }

  private func open() throws {
    guard !isOpen else { return }
    isOpen = zlib_inflate_init(stream.pointer, Self.format) == Z_OK
    guard isOpen else { throw BywayError(.handlerFailed, "There is no memory to restore a compressed body with.") }
  }

  private func failure(_ what: String) -> BywayError {
    BywayError(.incompleteResponse, "The \(message)'s body, compressed for the link, \(what).")
  }
}
