package import Byway
package import HTTPTypes
package import NIOCore

/// A reader of recordings, piece by piece, which checks everything that it reads.
package struct RecordingReader: Sendable {
  package enum Event {
    case chunk(Duration, ByteBuffer)
    case end(HTTPFields?)
    case failure(Duration, BywayError)
  }

  private static let chunkLimit = 16 << 20

  private let file: OpenFile
  package private(set) var position: Int
  /// The limit of one piece.
  private let limit: Int
  private var buffer = ByteBuffer()

  init(_ file: OpenFile, position: Int = 0, limit: Int) {
    self.file = file
    self.position = position
    self.limit = limit
  }

  /// Returns the next line, without its end.
  mutating func line() throws -> Substring {
    while true {
      if let end = buffer.readableBytesView.firstIndex(of: UInt8(ascii: "\n")) {
        let length = end - buffer.readerIndex
        let text = buffer.readString(length: length) ?? ""
        buffer.moveReaderIndex(forwardBy: 1)
        position += length + 1
        return text[...]
      }
      guard buffer.readableBytes < limit else { throw damage() }
      try fill(4096)
    }
  }

  /// Returns the next piece of a body.
  package mutating func event() throws -> Event {
    var trailers = HTTPFields()
    while true {
      let line = try line()
      switch line.first {
      case "+":
        let words = line.split(separator: " ")
        guard words.count == 3, let time = RecordingFormat.pause(words[1]), let length = Int(words[2]),
          (0...Self.chunkLimit).contains(length)
        else { throw damage() }
        return .chunk(time, try bytes(length))
      case "=":
        guard let field = RecordingFormat.field(line.dropFirst(2)), trailers.count < 1000 else { throw damage() }
        trailers.append(field)
      case ".": return .end(trailers.isEmpty ? nil : trailers)
      case "!":
        guard let (time, error) = RecordingFormat.failure(line.dropFirst(2)) else { throw damage() }
        return .failure(time, error)
      default: throw damage()
      }
    }
  }

  func damage() -> BywayError {
    BywayError(.unreadableFile, "\(file.path) is not a whole recording, from byte \(position) on: record it again.")
  }

  /// Returns a number of bytes, and skips the line's end after them.
  private mutating func bytes(_ count: Int) throws -> ByteBuffer {
    while buffer.readableBytes <= count { try fill(count + 1 - buffer.readableBytes) }
    guard let chunk = buffer.readSlice(length: count), buffer.readInteger(as: UInt8.self) == UInt8(ascii: "\n") else {
      throw damage()
    }
    position += count + 1
    return chunk
  }

  private mutating func fill(_ count: Int) throws {
    let next = position + buffer.readableBytes
    guard next < file.size else { throw damage() }
    var more = try file.read(at: next, upTo: min(count, file.size - next))
    buffer.discardReadBytes()
    buffer.writeBuffer(&more)
  }
}
