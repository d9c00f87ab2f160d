import Byway
import BywayLibC
import BywayPrimitives
import NIOCore
import NIOPosix

/// A file that is being written, for its owner only. It is removed if it is released before it is complete.
///
/// `@unchecked Sendable`: one task at a time uses it, and waits for each write.
final class NewFile: @unchecked Sendable {
  private let folder: TrustedFolder
  private let name: String
  private let descriptor: CInt
  private var isWhole = false

  /// Creates the file. Blocks, as does every function here that is not `async`.
  init(_ name: String, in folder: TrustedFolder) throws {
    descriptor = try Self.open(name, in: folder, O_WRONLY | O_CREAT | O_TRUNC)
    self.folder = folder
    self.name = name
  }

  deinit {
    close(descriptor)
    if !isWhole { try? folder.remove(name) }
  }

  func write(_ chunk: ByteBuffer) async throws {
    try await NIOThreadPool.singleton.runIfActive { try self.append(chunk) }
  }

  func append(_ bytes: ByteBuffer) throws {
    try put(bytes)
  }

  /// Overwrites bytes at a position.
  func overwrite(_ text: String, at position: Int) throws {
    try put(ByteBuffer(string: text), at: position)
  }

  private func put(_ bytes: ByteBuffer, at position: Int? = nil) throws {
    do {
      try Descriptor.write(bytes, to: descriptor, at: position)
    } catch {
      throw BywayError.cannotWrite("\(folder.path)/\(name)", error)
    }
  }

  /// Writes the data to the disk, before anything refers to it.
  func synchronize() throws {
    guard fdatasync(descriptor) == 0 else { throw BywayError.cannotWrite("\(folder.path)/\(name)", .last) }
  }

  /// Writes the data of an earlier file to the disk.
  static func synchronize(_ name: String, in folder: TrustedFolder) throws {
    let descriptor = try open(name, in: folder, O_RDONLY)
    defer { close(descriptor) }
    guard fdatasync(descriptor) == 0 else { throw BywayError.cannotWrite("\(folder.path)/\(name)", .last) }
  }

  /// Completes the file.
  func finish() {
    isWhole = true
  }

  /// Completes the file, which gets its name.
  func rename(to other: String) throws {
    do {
      try folder.rename(name, to: other)
    } catch {
      throw BywayError.cannotWrite("\(folder.path)/\(other)", error)
    }
    isWhole = true
  }

  private static func open(_ name: String, in folder: TrustedFolder, _ flags: CInt) throws -> CInt {
    do {
      return try folder.open(name, flags)
    } catch {
      throw BywayError.cannotCreate("\(folder.path)/\(name)", error)
    }
  }
}
