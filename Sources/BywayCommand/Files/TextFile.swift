import Byway
import Glibc
import NIOCore

/// Small files that people write.
enum TextFile {
  private static let limit = 1 << 20

  /// - Throws: ``CommandFailure`` where it cannot be read, is too large, or is no UTF-8.
  static func read(_ path: String) throws(CommandFailure) -> String {
    var whole = ByteBuffer()
    do {
      let descriptor = try Descriptor.open(path, O_RDONLY)
      defer { close(descriptor) }
      while whole.readableBytes <= limit, var chunk = try Descriptor.read(descriptor, upTo: 64 * 1024) {
        whole.writeBuffer(&chunk)
      }
    } catch {
      throw CommandFailure(.noInput, "Cannot read \(path): \(error).")
    }
    guard whole.readableBytes <= limit else {
      throw CommandFailure(.noInput, "\(path) is larger than 1 MiB: that is no configuration file.")
    }
    guard let text = String(validating: whole.readableBytesView, as: UTF8.self) else {
      throw CommandFailure(.noInput, "\(path) is no text in UTF-8.")
    }
    return text
  }
}
