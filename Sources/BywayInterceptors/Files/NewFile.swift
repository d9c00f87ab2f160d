import Byway
import Glibc
import NIOCore
import NIOPosix

/// A file that is being written, for its owner only; gone again where it is dropped before it is whole.
///
/// `@unchecked Sendable`: used by one task at a time, which waits for each write.
final class NewFile: @unchecked Sendable {
  private let path: String
  private let descriptor: CInt
  private var isWhole = false

  /// Blocks, as all of it does that is not `async`.
  init(_ path: String) throws {
    descriptor = try Self.open(path, O_WRONLY | O_CREAT | O_TRUNC)
    self.path = path
  }

  deinit {
    close(descriptor)
    if !isWhole { unlink(path) }
  }

  func write(_ chunk: ByteBuffer) async throws {
    try await NIOThreadPool.singleton.runIfActive { try self.append(chunk) }
  }

  func append(_ bytes: ByteBuffer) throws {
    try put(bytes)
  }

  /// Over what stands at a position already.
  func overwrite(_ text: String, at position: Int) throws {
    try put(ByteBuffer(string: text), at: position)
  }

  private func put(_ bytes: ByteBuffer, at position: Int? = nil) throws {
    do {
      try Descriptor.write(bytes, to: descriptor, at: position)
    } catch {
      throw Self.failure(path, error)
    }
  }

  /// Onto the disk, before anything refers to it.
  func synchronize() throws {
    guard fdatasync(descriptor) == 0 else { throw Self.failure(path) }
  }

  /// The same for one that was written earlier.
  static func synchronize(_ path: String) throws {
    let descriptor = try open(path, O_RDONLY)
    defer { close(descriptor) }
    guard fdatasync(descriptor) == 0 else { throw failure(path) }
  }

  /// The file is whole, and takes its name.
  func rename(to name: String) throws {
    guard Glibc.rename(path, name) == 0 else { throw Self.failure(name) }
    isWhole = true
  }

  private static func open(_ path: String, _ flags: CInt) throws -> CInt {
    do {
      return try Descriptor.open(path, flags, mode: 0o600)
    } catch {
      throw failure(path, error)
    }
  }

  private static func failure(_ path: String, _ failure: Descriptor.Failure = .init(code: errno)) -> BywayError {
    BywayError(.invalidRequest, "Cannot write \(path): \(failure).", processing: .none)
  }
}

extension NewFile: CacheWriter {
  func finish() {
    isWhole = true
  }
}
