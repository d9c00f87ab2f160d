import Byway
import Glibc
import NIOCore

/// Small files that people write.
enum TextFile {
  private static let limit = 1 << 20

  /// - Parameter ofUser: others may not be able to write it, because it makes this program do things.
  /// - Throws: ``CommandFailure`` where it cannot be read, is too large, or is not UTF-8.
  static func read(_ path: String, ofUser: Bool = false) throws(CommandFailure) -> String {
    var whole = ByteBuffer()
    var status = stat()
    do {
      let descriptor = try Descriptor.open(path, O_RDONLY)
      defer { close(descriptor) }
      guard fstat(descriptor, &status) == 0 else { throw Descriptor.Failure(code: errno) }
      while whole.readableBytes <= limit, var chunk = try Descriptor.read(descriptor, upTo: 64 * 1024) {
        whole.writeBuffer(&chunk)
      }
    } catch {
      throw CommandFailure(.noInput, "Cannot read \(path): \(error).")
    }
    guard !ofUser || (status.st_uid == geteuid() || status.st_uid == 0) && status.st_mode & 0o022 == 0 else {
      throw CommandFailure(.noInput, "Others can write to \(path): run chmod go-w on it, and check what is in it.")
    }
    guard whole.readableBytes <= limit else {
      throw CommandFailure(.noInput, "\(path) is larger than 1 MiB: that is not a configuration file.")
    }
    guard let text = String(validating: whole.readableBytesView, as: UTF8.self) else {
      throw CommandFailure(.noInput, "\(path) is not text in UTF-8.")
    }
    return text
  }
}
