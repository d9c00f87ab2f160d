public import NIOCore

/// Rewrites one body while it streams. Each body gets a value of its own.
public protocol BodyTransformation: Sendable {
  /// - Parameter chunk: cut anywhere.
  /// - Returns: what is certain by now; the rest is kept for later, within a bound.
  mutating func transform(_ chunk: ByteBuffer) throws -> ByteBuffer

  /// The body has ended.
  /// - Returns: what was kept.
  mutating func finish() throws -> ByteBuffer
}
