public import NIOCore

/// A transformation of one body while it streams. Each body gets a value of its own.
public protocol BodyTransformation: Sendable {
  /// Processes the next chunk of a body, and returns the output that is possible by then.
  /// - Parameter chunk: A chunk, cut at any position.
  /// - Returns: The output that is certain by now. The rest is kept for later, within a bound.
  mutating func transform(_ chunk: ByteBuffer) throws -> ByteBuffer

  /// Ends the body.
  /// - Returns: The rest that was kept.
  mutating func finish() throws -> ByteBuffer
}
