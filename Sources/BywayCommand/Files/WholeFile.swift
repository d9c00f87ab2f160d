import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore

/// A file that is written at once.
enum WholeFile {
  static func write(_ bytes: ByteBuffer, to path: String) throws(CommandFailure) {
    do {
      let descriptor = try SharedPlace.open(path, O_WRONLY | O_TRUNC, mode: 0o666)
      defer { close(descriptor) }
      try Descriptor.write(bytes, to: descriptor)
    } catch {
      throw CommandFailure(.cannotCreate, "Cannot write \(path): \(error).")
    }
  }
}
