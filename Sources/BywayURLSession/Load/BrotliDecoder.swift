import Byway
import BywayInterceptors
import BywayLibC
import NIOCore

/// A decoder of Brotli (RFC 7932). It uses less than the 16 MiB of the largest window.
final class BrotliDecoder: BodyCoder {
  /// The approximate number of bytes decoded in one step.
  private static let quantum = 64 * 1024

  private let library: BrotliLibrary
  private let subject: String
  private var stream: OpaquePointer?
  private var isWhole = false
  private var hasMore = false

  init(_ library: BrotliLibrary, of subject: String) {
    self.library = library
    self.subject = subject
  }

  deinit {
    if let stream { library.destroy(stream) }
  }

  func code(_ bytes: inout ByteBuffer, into result: inout ByteBuffer) throws {
    guard bytes.readableBytes > 0 else { return }
    guard !isWhole else { throw failure("goes on after its end") }
    try bytes.readWithUnsafeReadableBytes { try run($0, into: &result) }
  }

  func flush(into result: inout ByteBuffer) throws -> Bool {
    if hasMore { _ = try run(UnsafeRawBufferPointer(start: nil, count: 0), into: &result) }
    return hasMore
  }

  func finish(into result: inout ByteBuffer) throws {
    // An empty body was never begun.
    guard isWhole || stream == nil else { throw failure("ended too early") }
  }

  /// - Returns: the number of bytes of input taken.
  private func run(_ input: UnsafeRawBufferPointer, into result: inout ByteBuffer) throws -> Int {
    if stream == nil { stream = library.create(nil, nil, nil) }
    guard let stream else {
      throw BywayError(.handlerFailed, "There is no memory to restore a compressed body with.")
    }
    var rest = input.count
    var next = input.bindMemory(to: UInt8.self).baseAddress
    var code: CInt = 0
    result.writeWithUnsafeMutableBytes(minimumWritableBytes: Self.quantum) { room in
      var space = room.count
      var place = room.bindMemory(to: UInt8.self).baseAddress
      code = library.decompress(stream, &rest, &next, &space, &place, nil)
      return room.count - space
    }
    // BrotliDecoderResult: 0 is an error, 1 the end, and 2 and 3 ask for more input or output.
    guard code != 0 else { throw failure("was damaged") }
    isWhole = code == 1
    hasMore = code == 3
    return input.count - rest
  }

  private func failure(_ what: String) -> BywayError { BywayError(.incompleteResponse, "\(subject) \(what).") }
}

/// The system's libbrotlidec, opened when a session first requests a body. Without it, Brotli is not supported.
struct BrotliLibrary: Sendable {
  fileprivate typealias Create =
    @convention(c) (UnsafeRawPointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> OpaquePointer?
  fileprivate typealias Decompress =
    @convention(c) (
      OpaquePointer, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>, UnsafeMutablePointer<Int>,
      UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>?
    ) -> CInt
  fileprivate typealias Destroy = @convention(c) (OpaquePointer) -> Void

  static let ofSystem = BrotliLibrary("libbrotlidec.so.1")

  fileprivate let create: Create
  fileprivate let decompress: Decompress
  fileprivate let destroy: Destroy

  /// Returns `nil` if this machine has no such library.
  init?(_ name: String) {
    guard let library = dlopen(name, RTLD_NOW | RTLD_LOCAL),
      let create = dlsym(library, "BrotliDecoderCreateInstance"),
      let decompress = dlsym(library, "BrotliDecoderDecompressStream"),
      let destroy = dlsym(library, "BrotliDecoderDestroyInstance")
    else { return nil }
    self.create = unsafeBitCast(create, to: Create.self)
    self.decompress = unsafeBitCast(decompress, to: Decompress.self)
    self.destroy = unsafeBitCast(destroy, to: Destroy.self)
  }
}
