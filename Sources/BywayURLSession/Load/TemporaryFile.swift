import Byway
import BywayLibC
import BywayPrimitives
import Foundation
import NIOCore
import NIOPosix

/// A file in the folder for temporary files that only its user can read.
final class TemporaryFile: Sendable {
  let url: URL
  private let descriptor: CInt

  /// Creates an empty file.
  /// - Throws: `BywayError` if that fails.
  static func create() async throws -> TemporaryFile {
    try await NIOThreadPool.singleton.runIfActive { try TemporaryFile() }
  }

  /// Blocks.
  private init() throws {
    let path = NSTemporaryDirectory() + "byway-download-\(getpid())-\(UUID().uuidString).tmp"
    do {
      descriptor = try Descriptor.open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    } catch {
      throw BywayError.cannotCreate(path, error)
    }
    url = URL(fileURLWithPath: path)
  }

  deinit {
    // Closing a removed file frees its blocks, which takes time, so it is not done on a work queue.
    NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
  }

  /// Appends bytes.
  /// - Throws: `BywayError` if that fails, for example because the disk is full.
  func append(_ bytes: ByteBuffer) async throws {
    try await NIOThreadPool.singleton.runIfActive { [self] in
      do {
        try bytes.withUnsafeReadableBytes { bytes throws(SystemError) in
          try Descriptor.write(bytes, to: descriptor)
        }
      } catch let error as SystemError {
        throw BywayError.cannotWrite(url.path, error)
      }
    }
  }

  /// Removes the file, unless it was moved.
  func remove() {
    unlink(url.path)
  }
}
