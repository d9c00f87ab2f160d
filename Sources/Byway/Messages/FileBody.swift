import NIOCore
import NIOPosix

extension Body {
  /// Creates a body from a file, which is read as it is sent, never held in memory, and read again for a retry or a redirect.
  /// - Throws: ``BywayError`` with code `unreadableFile` if it cannot be opened, or is not a regular file.
  public init(file path: String) throws {
    self.init(try OpenFile(path))
  }

  /// - Parameter range: the range of bytes to send; `nil`: all.
  package init(_ file: OpenFile, range: Range<Int>? = nil) {
    let range = range ?? 0..<file.size
    self.init(FileBody(file: file, range: range), length: range.count, isReplayable: true)
  }
}

/// A part of a file in chunks, read on a thread that may block.
private struct FileBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  static let chunkSize = 128 * 1024

  let file: OpenFile
  let range: Range<Int>

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, rest: range) }

  struct AsyncIterator: AsyncIteratorProtocol {
    let file: OpenFile
    var rest: Range<Int>

    mutating func next() async throws -> ByteBuffer? {
      guard !rest.isEmpty else { return nil }
      let (file, position, limit) = (file, rest.lowerBound, Swift.min(rest.count, FileBody.chunkSize))
      let chunk = try await NIOThreadPool.singleton.runIfActive { try file.read(at: position, upTo: limit) }
      rest = (position + chunk.readableBytes)..<rest.upperBound
      return chunk
    }
  }
}
