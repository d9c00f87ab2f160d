import BywayHTTPWire
import NIOCore

/// Reads content to its end (RFC 9112 §6 and §7), as slices of the input.
struct BodyReader: Sendable {
  enum Event {
    case bytes(ByteBuffer)
    case end(trailers: FieldSection?)
  }

  private enum State {
    case length(remaining: Int)
    case chunkHeader
    case chunk(remaining: Int)
    case chunkEnd
    case trailers
    case untilClose
  }

  private var state: State
  private let limits: HTTP1Configuration.Chunks
  private let declared: Int?
  private var received = 0
  private var trailers: FieldLineReader?
  private let options: ConnectionOptions

  /// - Parameter options: the fields that must not be forwarded, also in the trailers (RFC 9110 §7.6.1).
  init(_ framing: BodyFraming, limits: HTTP1Configuration.Chunks, options: ConnectionOptions) {
    (state, declared) =
      switch framing {
      case .none: (.length(remaining: 0), nil)
      case .length(let length): (.length(remaining: length), length)
      case .chunked: (.chunkHeader, nil)
      case .untilClose, .tunnel: (.untilClose, nil)
      }
    self.limits = limits
    self.options = options
  }

  /// Returns the next event; `nil` if more input is needed.
  mutating func next(from input: inout InputBuffer) throws(HTTP1Failure) -> Event? {
    while true {
      switch state {
      case .length(let remaining):
        if remaining == 0 { return .end(trailers: nil) }
        guard let bytes = input.readBody(atMost: remaining) else { return try needMore(input) }
        state = .length(remaining: remaining - bytes.readableBytes)
        return take(bytes)

      case .chunkHeader:
        let tooLong = HTTP1Failure.tooLarge("The header of a chunk is too long.", status: 400)
        let size = try input.readLine(limit: limits.headerSize, tooLong: tooLong) { line throws(HTTP1Failure) in
          try ChunkHeader.size(of: line)
        }
        guard let size else { return try needMore(input) }
        state = size == 0 ? .trailers : .chunk(remaining: size)

      case .chunk(let remaining):
        guard let bytes = input.readBody(atMost: remaining) else { return try needMore(input) }
        let left = remaining - bytes.readableBytes
        state = left == 0 ? .chunkEnd : .chunk(remaining: left)
        return take(bytes)

      case .chunkEnd:
        let tooLong = HTTP1Failure.malformed("A chunk is longer than its size says.")
        guard let _: Void = try input.readLine(limit: 0, tooLong: tooLong, { _ in }) else { return try needMore(input) }
        state = .chunkHeader

      case .trailers:
        guard let fields = try readTrailers(from: &input) else { return try needMore(input) }
        return .end(trailers: fields.isEmpty ? nil : fields)

      case .untilClose:
        if let bytes = input.readBody(atMost: .max) { return take(bytes) }
        return input.hasEnded ? .end(trailers: nil) : nil
      }
    }
  }

  private mutating func readTrailers(from input: inout InputBuffer) throws(HTTP1Failure) -> FieldSection? {
    var lines =
      trailers.take()
      ?? FieldLineReader(
        .trailers, sizeLimit: limits.trailerSize, countLimit: limits.trailerCount, fields: FieldSection())
    guard try lines.read(from: &input) else {
      trailers = lines
      return nil
    }
    var fields = lines.takeFields()
    options.strip(&fields)
    return fields
  }

  private mutating func take(_ bytes: ByteBuffer) -> Event {
    received &+= bytes.readableBytes
    return .bytes(bytes)
  }

  private func needMore(_ input: InputBuffer) throws(HTTP1Failure) -> Event? {
    if input.hasEnded { throw .incomplete(.inBody(received: received, expected: declared)) }
    return nil
  }
}
