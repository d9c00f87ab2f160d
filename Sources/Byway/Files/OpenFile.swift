import BywayLibC
package import BywayPrimitives
package import NIOCore

/// A regular file, open for reading. The last reference closes it.
///
/// Reads have explicit positions, so that several bodies can be read from one file concurrently. They block: not for event loops.
package final class OpenFile: Sendable {
  package let path: String
  /// The status when it was opened.
  package let status: FileStatus
  private let descriptor: CInt

  /// The size in bytes when it was opened.
  package var size: Int { status.size }

  /// - Throws: ``BywayError`` if it cannot be read, or is a folder, a pipe or a device.
  package init(_ path: String) throws {
    do throws(FileRefusal) {
      (descriptor, status) = try RegularFile.open(path)
    } catch {
      throw BywayError.cannotRead(path, "\(error)")
    }
    self.path = path
  }

  /// - Parameter descriptor: closed by this object, even if this fails.
  package init(owning descriptor: CInt, path: String) throws {
    do {
      status = try FileStatus(of: descriptor)
    } catch {
      close(descriptor)
      throw BywayError.cannotRead(path, error)
    }
    guard status.kind == .regular else {
      close(descriptor)
      throw BywayError.cannotRead(path, "\(FileRefusal.notRegular(status.kind))")
    }
    self.descriptor = descriptor
    self.path = path
  }

  deinit {
    close(descriptor)
  }

  /// Reads at a position, at least one and at most `limit` bytes.
  /// - Throws: ``BywayError`` if the file has become shorter than the position.
  package func read(at position: Int, upTo limit: Int) throws -> ByteBuffer {
    let bytes: ByteBuffer?
    do {
      bytes = try Descriptor.read(descriptor, upTo: limit, at: position)
    } catch {
      throw BywayError.cannotRead(path, error)
    }
    guard let bytes else { throw BywayError.cannotRead(path, "it became shorter while it was being sent") }
    return bytes
  }

  /// Reads the whole file.
  package func readAll() throws -> ByteBuffer {
    var whole = ByteBuffer()
    while whole.readableBytes < size {
      var chunk = try read(at: whole.readableBytes, upTo: size - whole.readableBytes)
      whole.writeBuffer(&chunk)
    }
    return whole
  }
}
