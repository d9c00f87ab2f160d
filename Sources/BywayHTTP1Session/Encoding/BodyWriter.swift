package import BywayHTTPWire
package import NIOCore

/// Frames a message's content, and enforces the length that its head declared.
package struct BodyWriter: Sendable {
  package let framing: BodyFraming
  /// The remaining bytes of a declared length.
  private var remaining: Int

  init(_ framing: BodyFraming) {
    self.framing = framing
    remaining = if case .length(let length) = framing { length } else { 0 }
  }

  mutating func writePrefix(count: Int, into output: inout ByteBuffer) throws(HTTP1Failure) {
    guard count > 0 else { return }
    switch framing {
    case .none: throw .unencodable("The message's head says that it has no body, but \(count) bytes of one came.")
    case .length:
      guard count <= remaining else { throw .unencodable("The body is longer than its Content-Length.") }
      remaining -= count
    case .chunked:
      output.writeString(String(count, radix: 16))
      output.append("\r\n")
    case .untilClose, .tunnel: break
    }
  }

  func writeSuffix(into output: inout ByteBuffer) {
    if framing == .chunked { output.append("\r\n") }
  }

  func writeEnd(trailers: FieldSection?, into output: inout ByteBuffer) throws(HTTP1Failure) {
    guard remaining == 0 else { throw .unencodable("The body is \(remaining) bytes shorter than its Content-Length.") }
    guard framing == .chunked else { return }
    try output.writeLines(expected: trailers?.expectedHeadSize ?? 5) { output throws(HTTP1Failure) in
      output.append("0\r\n")
      if let trailers { try Self.write(trailers, into: &output) }
      output.append("\r\n")
    }
  }

  private static func write(_ trailers: FieldSection, into output: inout HeadWriter) throws(HTTP1Failure) {
    for line in trailers.lines where !line.field.isBarredFromTrailers {
      try trailers.withBytes(of: line) { name, value throws(HTTP1Failure) in try output.writeField(name, value) }
    }
  }
}

/// The operations that both encoders share after the head.
package protocol MessageEncoder {
  var body: BodyWriter { get set }
}

extension MessageEncoder {
  /// The framing that `writeHead` chose.
  package var framing: BodyFraming { body.framing }

  /// Appends a piece of the content, copied and framed.
  /// - Throws: if it is longer than the head declared.
  package mutating func writeBody(_ bytes: ByteBuffer, into output: inout ByteBuffer) throws(HTTP1Failure) {
    guard bytes.readableBytes > 0 else { return }
    try writeBodyPrefix(count: bytes.readableBytes, into: &output)
    output.writeImmutableBuffer(bytes)
    writeBodySuffix(into: &output)
  }

  /// Appends the framing without the content: write the prefix, send `count` bytes, and write the suffix. If the count is 0,
  /// write neither, because an empty chunk would be the last one.
  package mutating func writeBodyPrefix(count: Int, into output: inout ByteBuffer) throws(HTTP1Failure) {
    try body.writePrefix(count: count, into: &output)
  }

  package func writeBodySuffix(into output: inout ByteBuffer) {
    body.writeSuffix(into: &output)
  }

  /// Ends the message. Trailers are dropped if the framing cannot carry them.
  /// - Throws: if content is missing. The connection must then be closed, because the peer waits for the rest.
  package mutating func writeEnd(trailers: FieldSection?, into output: inout ByteBuffer) throws(HTTP1Failure) {
    try body.writeEnd(trailers: trailers, into: &output)
  }
}
