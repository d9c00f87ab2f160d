import Byway
import Foundation
import Glibc
import NIOCore
import NIOPosix
import Primitives

/// A file in the folder for temporary files, which its user alone can read.
final class TemporaryFile: Sendable {
  let url: URL
  private let descriptor: CInt

  /// Creates an empty file.
  /// - Throws: `BywayError` where that is not possible.
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
    // For a file that was removed, the system frees its blocks now, which takes time: not on a work queue.
    NIOThreadPool.singleton.submit { [descriptor] _ in close(descriptor) }
  }

  /// Writes at the end.
  /// - Throws: `BywayError` where that is not possible, perhaps because the disk is full.
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

  /// Removes the file unless it was moved elsewhere.
  func remove() {
    unlink(url.path)
  }
}
