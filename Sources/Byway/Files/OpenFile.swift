import Glibc
package import NIOCore

/// A regular file, open for reading; closed with its last reference.
///
/// Reads name their position and share none, so that several bodies can be read from one file at once. They block: not
/// for event loops.
package final class OpenFile: Sendable {
  package let path: String
  package let size: Int
  /// When its content last changed, since 1970.
  package let modified: Duration
  /// Who may do what, as `chmod` counts it.
  package let permissions: UInt32
  package let owner: UInt32
  private let descriptor: CInt

  /// - Throws: ``BywayError`` where it cannot be read, or is a folder, a pipe or a device.
  package convenience init(_ path: String) throws {
    // A pipe without a writer would hold the caller up.
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(path, "\(Descriptor.Failure(code: errno))") }
    try self.init(owning: descriptor, path: path)
  }

  /// - Parameter descriptor: closed by this object, also where this fails.
  package init(owning descriptor: CInt, path: String) throws {
    var status = stat()
    let code = fstat(descriptor, &status) == 0 ? 0 : errno
    guard code == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(descriptor)
      throw Self.failure(path, code == 0 ? "it is not a regular file" : "\(Descriptor.Failure(code: code))")
    }
    self.descriptor = descriptor
    self.path = path
    size = Int(status.st_size)
    permissions = status.st_mode & 0o777
    owner = status.st_uid
    modified = .seconds(status.st_mtim.tv_sec) + .nanoseconds(status.st_mtim.tv_nsec)
  }

  deinit {
    close(descriptor)
  }

  /// What stands at a position, at least one and at most `limit` bytes.
  /// - Throws: ``BywayError`` where nothing does: the file has become shorter.
  package func read(at position: Int, upTo limit: Int) throws -> ByteBuffer {
    let bytes: ByteBuffer?
    do {
      bytes = try Descriptor.read(descriptor, upTo: limit, at: position)
    } catch {
      throw Self.failure(path, "\(error)")
    }
    guard let bytes else { throw Self.failure(path, "it became shorter while it was being sent") }
    return bytes
  }

  /// Everything in it.
  package func readAll() throws -> ByteBuffer {
    var whole = ByteBuffer()
    while whole.readableBytes < size {
      var chunk = try read(at: whole.readableBytes, upTo: size - whole.readableBytes)
      whole.writeBuffer(&chunk)
    }
    return whole
  }

  private static func failure(_ path: String, _ reason: String) -> BywayError {
    BywayError(.invalidRequest, "Cannot read \(path): \(reason).", processing: .none)
  }
}
