public import NIOCore

/// Rewrites one body while it streams. Each body gets a value of its own.
public protocol BodyTransformation: Sendable {
  /// Takes the next chunk of a body, and gives out what can be given out by then.
  /// - Parameter chunk: cut anywhere.
  /// - Returns: what is certain by now; the rest is kept for later, within a bound.
  mutating func transform(_ chunk: ByteBuffer) throws -> ByteBuffer

  /// The body has ended.
  /// - Returns: what was kept.
  mutating func finish() throws -> ByteBuffer
}
