import Byway
import Glibc
import NIOCore

/// 1 GiB of lines.
struct LongBody: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  static let length = 1 << 30
  private static let chunk: ByteBuffer = {
    var chunk = ByteBuffer()
    var value: UInt32 = 1
    while chunk.readableBytes < 1 << 16 {
      value = value &* 1_664_525 &+ 1_013_904_223
      chunk.writeString("sensor \(value >> 27): \(value >> 8)\n")
    }
    return chunk.getSlice(at: 0, length: 1 << 16) ?? chunk
  }()

  func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }

  struct AsyncIterator: AsyncIteratorProtocol {
    private var rest = LongBody.length

    mutating func next() async -> ByteBuffer? {
      guard rest > 0 else { return nil }
      rest -= LongBody.chunk.readableBytes
      return LongBody.chunk
    }
  }

  /// Creates a file of that length without disk blocks.
  static func writeHoles(to path: String) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    defer { close(descriptor) }
    guard descriptor >= 0, ftruncate(descriptor, length) == 0 else {
      throw BywayError(.invalidRequest, "Cannot write \(path).")
    }
  }
}
