import Byway
import Glibc
import NIOCore
import NIOPosix

/// A file, or standard input, as a request's body: read as it is sent, never held.
struct InputFile: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  private static let chunkSize = 128 * 1024

  private let path: String
  /// `nil` where it is no regular file, so that its length is not known and it cannot be read twice.
  private let length: Int?

  /// - Parameter path: `-` for standard input.
  /// - Throws: ``CommandFailure`` where it cannot be read.
  init(_ path: String) throws {
    self.path = path
    let file = try OpenFile(path)
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else { throw OpenFile.failure(path, Descriptor.Failure(code: errno)) }
    switch status.st_mode & S_IFMT {
    case S_IFDIR: throw OpenFile.failure(path, Descriptor.Failure(code: EISDIR))
    case S_IFREG where path != "-": length = Int(status.st_size)
    default: length = nil
    }
  }

  var body: Body { Body(self, length: length, isReplayable: length != nil) }

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(path: path) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let path: String
    private var file: OpenFile?

    fileprivate init(path: String) {
      self.path = path
    }

    mutating func next() async throws -> ByteBuffer? {
      let file = try self.file ?? OpenFile(path)
      self.file = file
      return try await NIOThreadPool.singleton.runIfActive { try file.read(upTo: InputFile.chunkSize) }
    }
  }
}

/// Closed with its last reference. Its reads must not overlap.
private final class OpenFile: Sendable {
  let descriptor: CInt
  private let path: String

  init(_ path: String) throws {
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

  func read(upTo limit: Int) throws -> ByteBuffer? {
    do {
      return try Descriptor.read(descriptor, upTo: limit)
    } catch {
      throw Self.failure(path, error)
    }
  }

  static func failure(_ path: String, _ failure: Descriptor.Failure) -> CommandFailure {
    CommandFailure(.noInput, "Cannot read \(path == "-" ? "standard input" : path): \(failure).")
  }
}
