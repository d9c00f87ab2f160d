import Byway
import BywayLibC
import BywayPrimitives
import BywayTerminal
import NIOCore
import NIOPosix

/// A file, or standard input, as a request's body. It is read while it is sent, and never held in memory.
enum InputFile {
  /// - Parameter path: `-` for standard input.
  /// - Throws: ``CommandFailure`` if it cannot be read.
  static func body(_ path: String) throws(CommandFailure) -> Body {
    if path == "-" || isStream(path) { return Body(try InputStream(path), length: nil, isReplayable: false) }
    do {
      return try Body(file: path)
    } catch {
      throw CommandFailure(.noInput, BywayError(error).message)
    }
  }

  private static func isStream(_ path: String) -> Bool {
    guard let kind = try? FileStatus(of: path).kind else { return false }
    return kind != .regular && kind != .folder
  }
}

/// A pipe, a terminal or a device: its length is unknown until its end, and it can be read only once.
private final class InputStream: AsyncSequence, AsyncIteratorProtocol, Sendable {
  typealias Element = ByteBuffer

  private static let chunkSize = 128 * 1024

  private let descriptor: CInt
  private let path: String

  init(_ path: String) throws(CommandFailure) {
    self.path = path
    do {
      descriptor = path == "-" ? STDIN_FILENO : try Descriptor.open(path, O_RDONLY)
    } catch {
      throw Self.failure(path, error)
    }
  }

  deinit {
    if descriptor != STDIN_FILENO { close(descriptor) }
  }

  func makeAsyncIterator() -> InputStream { self }

  func next() async throws -> ByteBuffer? {
    try await NIOThreadPool.singleton.runIfActive { try self.read() }
  }

  private func read() throws -> ByteBuffer? {
    do {
      return try Descriptor.read(descriptor, upTo: Self.chunkSize)
    } catch {
      throw Self.failure(path, error)
    }
  }

  private static func failure(_ path: String, _ failure: SystemError) -> CommandFailure {
    CommandFailure(.noInput, "Cannot read \(path == "-" ? "standard input" : path): \(failure).")
  }
}
