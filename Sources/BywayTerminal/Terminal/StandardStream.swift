import Byway
import BywayLibC
import BywayPrimitives
package import NIOCore

/// Standard output or standard error. Every call is one write if the kernel accepts all of it, so that the lines of several threads
/// do not mix.
package struct StandardStream: Sendable {
  package static let output = StandardStream(descriptor: STDOUT_FILENO)
  package static let error = StandardStream(descriptor: STDERR_FILENO)

  let descriptor: CInt

  package var isTerminal: Bool { isatty(descriptor) == 1 }

  /// The number of columns of the terminal; 80 if it is unknown.
  package var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Whether to use colour and line drawing: on a terminal, unless the user has disabled it (no-color.org).
  package var isColourful: Bool {
    isTerminal && Environment["NO_COLOR"].map(\.isEmpty) ?? true
      && Environment["TERM"].map { $0 != "dumb" } ?? false
  }

  /// - Throws: ``BrokenPipe``, or ``CommandFailure``.
  package func write(_ text: String) throws {
    try write(ByteBuffer(string: text))
  }

  package func write(_ bytes: ByteBuffer) throws {
    do {
      try Descriptor.write(bytes, to: descriptor)
    } catch  where error.code == EPIPE {
      throw BrokenPipe()
    } catch {
      throw CommandFailure(.ioFailure, "Cannot write to standard output: \(error).")
    }
  }

  /// Writes text for people. A missing reader is not an error.
  package func writeText(_ text: String) {
    try? write(text)
  }

  /// Writes one line, with control characters made visible.
  package func writeLine(_ line: String) {
    writeText(line.visible + "\n")
  }
}
