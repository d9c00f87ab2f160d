import BywayHTTPWire
import NIOCore

/// The common part of reading requests and responses: a start line, field lines, and a body.
struct MessageReader: Sendable {
  private let part: FieldLineReader.Part
  let configuration: HTTP1Configuration
  var input = InputBuffer()
  private(set) var lines: FieldLineReader
  private var body: BodyReader

  init(_ part: FieldLineReader.Part, _ configuration: HTTP1Configuration) {
    self.part = part
    self.configuration = configuration
    let nothing = FieldSection(lineCapacity: 0, byteCapacity: 0)
    lines = FieldLineReader(part, sizeLimit: 0, countLimit: 0, fields: nothing)
    body = BodyReader(.none, limits: configuration.chunks, options: ConnectionOptions())
  }

  /// Returns `nil` while the line is incomplete. Fields that `parse` adds to the section precede the others.
  mutating func readStartLine<Line>(
    tooLong: @autoclosure () -> HTTP1Failure,
    _ parse: (UnsafeRawBufferPointer, inout FieldSection) throws(HTTP1Failure) -> Line
  ) throws(HTTP1Failure) -> Line? {
    let limits = configuration.head
    let start = try input.readLine(limit: limits.startLineSize, tooLong: tooLong()) { line throws(HTTP1Failure) in
      var fields = FieldSection()
      return (line: try parse(line, &fields), fields: fields, size: line.count + 2)
    }
    guard let start else {
      if input.hasEnded { throw .incomplete(input.isEmpty ? .beforeHead : .inHead) }
      return nil
    }
    lines = FieldLineReader(
      part, sizeLimit: limits.size, countLimit: limits.fieldCount, startLineSize: start.size, fields: start.fields)
    return start.line
  }

  /// Reads lines. Returns whether the head is complete.
  mutating func readFieldLines() throws(HTTP1Failure) -> Bool {
    if try lines.read(from: &input) { return true }
    if input.hasEnded { throw .incomplete(.inHead) }
    return false
  }

  mutating func takeFields() -> FieldSection {
    lines.takeFields()
  }

  mutating func beginBody(_ framing: BodyFraming, options: ConnectionOptions = ConnectionOptions()) {
    body = BodyReader(framing, limits: configuration.chunks, options: options)
  }

  mutating func readBody() throws(HTTP1Failure) -> BodyReader.Event? {
    let event = try body.next(from: &input)
    if case .end? = event { input.releaseStorage() }
    return event
  }
}
