import BywayLibC
import BywayPrimitives
import BywayTerminal

/// The output of an access log or an audit log: a file that is only appended to, or standard output.
struct AccessLogFile {
  /// `nil` for standard output.
  private let path: String?
  private var descriptor: CInt
  /// Whether a line was begun and could not be completed.
  private var isWithinLine = false

  /// - Throws: ``CommandFailure`` if it cannot be opened.
  init(_ path: String, of option: String = "--access-log") throws {
    self.path = path == "-" ? nil : path
    do throws(FileRefusal) {
      descriptor = if let path = self.path { try Self.open(path) } else { STDOUT_FILENO }
    } catch {
      throw CommandFailure(.cannotCreate, "\(option) \(path): it cannot be opened: \(error).")
    }
  }

  /// Opens the file again.
  /// - Throws: If it cannot be opened; further lines go to the old one then.
  mutating func reopen() throws(FileRefusal) {
    guard let path else { return }
    let opened = try Self.open(path)
    close(descriptor)
    descriptor = opened
    // It may be the same file, or a pipe that has new readers.
    isWithinLine = isWithinLine && lseek(opened, 0, SEEK_END) != 0
  }

  /// - Parameter lines: Lines with their line ends.
  /// - Returns: The number of lines that were not written completely, and the reason.
  mutating func write(_ lines: UnsafeRawBufferPointer) -> (lost: Int, reason: SystemError?) {
    guard !lines.isEmpty else { return (0, nil) }
    if isWithinLine {
      // After half a line, the next one would be read as its rest.
      let (written, reason) = withUnsafeBytes(of: Self.newline) { put($0) }
      guard written == 1 else { return (Self.count(lines), reason) }
      isWithinLine = false
    }
    let (written, reason) = put(lines)
    if written > 0 { isWithinLine = lines[written - 1] != Self.newline }
    return (Self.count(UnsafeRawBufferPointer(rebasing: lines[written...])), reason)
  }

  /// - Returns: The number of bytes that were written, and the reason if it is not all of them.
  private func put(_ bytes: UnsafeRawBufferPointer) -> (written: Int, reason: SystemError?) {
    var written = 0
    while written < bytes.count {
      let count = BywayLibC.write(descriptor, bytes.baseAddress.map { $0 + written }, bytes.count - written)
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        return (written, SystemError.last)
      }
    }
    return (written, nil)
  }

  private static func count(_ lines: UnsafeRawBufferPointer) -> Int {
    lines.count { $0 == newline }
  }

  private static let newline = UInt8(ascii: "\n")

  private static func open(_ path: String) throws(FileRefusal) -> CInt {
    // A pipe without a reader is an error. Later, a write waits for the reader.
    let descriptor = try SharedPlace.open(path, O_WRONLY | O_APPEND, mode: 0o640)
    let flags = fcntl(descriptor, F_GETFL)
    if flags >= 0 { _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) }
    return descriptor
  }
}
