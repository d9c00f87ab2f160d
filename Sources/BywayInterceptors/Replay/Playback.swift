package import Byway
package import HTTPTypes
import NIOCore
import NIOPosix

/// An open recording, whose head has been read. Its body is still in the file.
package struct Playback: Sendable {
  package enum Answer: Sendable {
    case response(HTTPResponse)
    case failure(BywayError)
  }

  let subject: RecordingSubject
  /// The pause before the answer.
  package private(set) var waiting = Duration.zero
  package private(set) var answer: Answer
  private let file: OpenFile
  private let bodyPosition: Int

  /// Opens a recording. Blocks.
  /// - Parameter position: Its beginning in the file.
  /// - Throws: `BywayError` if there is no recording.
  package init(_ file: OpenFile, at position: Int = 0) throws {
    self.file = file
    var reader = RecordingReader(file, position: position, limit: RecordingFormat.headLimit)
    guard try reader.line() + "\n" == RecordingFormat.magic else { throw reader.damage() }
    let request = try reader.line().split(separator: " ")
    let digest = try reader.line().split(separator: " ")
    guard request.count == 3, digest.count == 3 else { throw reader.damage() }
    subject = RecordingSubject(method: String(request[1]), target: String(request[2]), body: String(digest[2]))

    let first = try reader.line()
    if first.hasPrefix("! "), let (time, error) = RecordingFormat.failure(first.dropFirst(2)) {
      (waiting, answer, bodyPosition) = (time, .failure(error), reader.position)
      return
    }
    let words = first.split(separator: " ")
    guard words.count == 3, words[0] == "<", let time = RecordingFormat.pause(words[1]), let status = Int(words[2]),
      (200...999).contains(status)
    else { throw reader.damage() }
    var fields = HTTPFields()
    while true {
      let line = try reader.line()
      guard reader.position - position <= RecordingFormat.headLimit else { throw reader.damage() }
      if line == "<" { break }
      guard line.hasPrefix("< "), let field = RecordingFormat.field(line.dropFirst(2)) else { throw reader.damage() }
      fields.append(field)
    }
    (waiting, bodyPosition) = (time, reader.position)
    answer = .response(HTTPResponse(status: .init(code: status), headerFields: fields))
  }

  /// A reader for what follows the head.
  package var reader: RecordingReader {
    RecordingReader(file, position: bodyPosition, limit: RecordingFormat.lineLimit)
  }

  /// Returns the position after its last line. Blocks, and reads all of it.
  /// - Throws: `BywayError` if the recording is not complete.
  func end() throws -> Int {
    if case .failure = answer { return bodyPosition }
    var reader = reader
    while case .chunk = try reader.event() {}
    return reader.position
  }

  /// - Parameter clock: `nil` to omit the pauses.
  func body(on clock: (any Clock<Duration>)?) -> Body {
    var length: Int?
    if case .response(let head) = answer { length = head.headerFields[.contentLength].flatMap { Int($0) } }
    let trailers = TrailerBox()
    return Body(
      RecordedChunks(reader: reader, clock: clock, trailers: trailers), length: length,
      isReplayable: true, trailers: { trailers.value })
  }
}

/// The chunks of a recording, read from the disk one at a time.
private struct RecordedChunks: AsyncSequence, Sendable {
  typealias Element = ByteBuffer

  let reader: RecordingReader
  let clock: (any Clock<Duration>)?
  let trailers: TrailerBox

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(reader: reader, clock: clock, trailers: trailers)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var reader: RecordingReader
    let clock: (any Clock<Duration>)?
    let trailers: TrailerBox
    var isFinished = false

    mutating func next() async throws -> ByteBuffer? {
      guard !isFinished else { return nil }
      let (start, clock) = (reader, clock)
      let (event, rest) = try await NIOThreadPool.singleton.runIfActive {
        var reader = start
        return (try reader.event(), reader)
      }
      reader = rest
      switch event {
      case .chunk(let time, let chunk):
        try await clock?.sleep(for: time, tolerance: nil)
        return chunk
      case .end(let fields):
        trailers.value = fields
        isFinished = true
        return nil
      case .failure(let time, let error):
        try await clock?.sleep(for: time, tolerance: nil)
        throw error
      }
    }
  }
}
