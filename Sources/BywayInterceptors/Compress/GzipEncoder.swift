import Byway
import CBywayZlib
import NIOCore

/// An encoder of gzip (RFC 1952). Data that does not shrink is stored uncompressed.
final class GzipEncoder: BodyCoder {
  /// Bytes of input in one step: a few milliseconds on a slow processor.
  private static let quantum = 16 * 1024
  /// A quarter of the memory of zlib's defaults, for a few per cent of size: 128 KiB for each body in transfer.
  private static let window: CInt = 14
  private static let memoryLevel: CInt = 7
  /// A value to add to the window's size for a header and a checksum (zlib's manual).
  private static let gzip: CInt = 16
  /// The number of bytes after which the gain is judged.
  private static let trial = 64 * 1024

  private let stream = ZlibStream()
  private var isOpen = false
  private var isJudged = false

  deinit {
    if isOpen { deflateEnd(stream.pointer) }
  }

  func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws {
    try open()
    var piece = bytes.readSlice(length: min(bytes.readableBytes, Self.quantum)) ?? ByteBuffer()
    try run(&piece, Z_NO_FLUSH, into: &result)
    if !isJudged, stream.pointer.pointee.total_in >= Self.trial { try judge(into: &result) }
  }

  func flush(into result: inout ByteBuffer) throws -> Bool {
    var none = ByteBuffer()
    try run(&none, Z_SYNC_FLUSH, into: &result)
    return false
  }

  func finish(into result: inout ByteBuffer) throws {
    try open()
    var none = ByteBuffer()
    try run(&none, Z_FINISH, into: &result)
  }

  private func open() throws {
    guard !isOpen else { return }
    isOpen =
      zlib_deflate_init(
        stream.pointer, Z_DEFAULT_COMPRESSION, Self.window + Self.gzip, Self.memoryLevel) == Z_OK
    guard isOpen else { throw BywayError(.handlerFailed, "There is no memory to compress a body with.") }
  }

  /// Judges the gain. A type may be misleading: encrypted content, a picture within JSON.
  private func judge(into result: inout ByteBuffer) throws {
    isJudged = true
    guard stream.pointer.pointee.total_out * 20 > stream.pointer.pointee.total_in * 19 else { return }
    // The output so far must leave before the level changes, as zlib demands.
    _ = try flush(into: &result)
    _ = try step(into: &result) { deflateParams($0, Z_NO_COMPRESSION, Z_DEFAULT_STRATEGY) }
  }

  private func run(_ bytes: inout ByteBuffer, _ flush: CInt, into result: inout ByteBuffer) throws {
    try bytes.readWithUnsafeReadableBytes { input in
      try stream.reading(input) {
        while try step(into: &result, { deflate($0, flush) }) {}
      }
    }
  }

  /// - Returns: Whether there may be more output.
  private func step(into result: inout ByteBuffer, _ body: (z_streamp) -> CInt) throws -> Bool {
    let (code, isFull) = stream.writing(into: &result, body)
    // Z_BUF_ERROR: there was nothing to do.
    guard code == Z_OK || code == Z_STREAM_END || code == Z_BUF_ERROR else {
      throw BywayError(.handlerFailed, "A body could not be compressed (zlib: \(code)).")
    }
    return isFull && code != Z_STREAM_END
  }
}
