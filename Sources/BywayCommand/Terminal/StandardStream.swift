import Byway
import Glibc
import NIOCore
import Primitives

/// Standard output or standard error. Every call is one write where the kernel takes it whole, so that lines of
/// several threads stay apart.
struct StandardStream: Sendable {
  static let output = StandardStream(descriptor: STDOUT_FILENO)
  static let error = StandardStream(descriptor: STDERR_FILENO)

  let descriptor: CInt

  var isTerminal: Bool { isatty(descriptor) == 1 }

  /// Columns of the terminal; 80 where that is unknown.
  var width: Int {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Colour and line drawing are welcome: a terminal, and the user did not say otherwise (no-color.org).
  var isColourful: Bool {
    isTerminal && Environment["NO_COLOR"].map(\.isEmpty) ?? true
      && Environment["TERM"].map { $0 != "dumb" } ?? false
  }

  /// - Throws: ``BrokenPipe``, or ``CommandFailure``.
  func write(_ text: String) throws {
    try write(ByteBuffer(string: text))
  }

  func write(_ bytes: ByteBuffer) throws {
    do {
      try Descriptor.write(bytes, to: descriptor)
    } catch  where error.code == EPIPE {
      throw BrokenPipe()
    } catch {
      throw CommandFailure(.ioFailure, "Cannot write to standard output: \(error).")
    }
  }

  /// Text for people; that nobody listens is no reason to fail.
  func writeText(_ text: String) {
    try? write(text)
  }

  /// One line, whatever is in it.
  func writeLine(_ line: String) {
    writeText(line.visible + "\n")
  }
}
