import BywayHTTPWire

/// The limits for messages that the parsers accept. Sizes are in bytes.
package struct HTTP1Configuration: Sendable, Hashable {
  package struct Head: Sendable, Hashable {
    /// The size of the request line or status line.
    package var startLineSize = 16 * 1024
    /// The size of the start line and all field lines.
    package var size = 64 * 1024
    /// The number of field lines, and of the options of `Connection` that name fields.
    package var fieldCount = 256

    package init() {}
  }

  package struct Chunks: Sendable, Hashable {
    /// The size of one chunk header: its size and extensions.
    package var headerSize = 1024
    package var trailerSize = 16 * 1024
    package var trailerCount = 64

    package init() {}
  }

  package var head = Head()
  package var chunks = Chunks()
  /// The number of 1xx responses before the final one.
  package var informationalResponses = MessageLimits.informationalResponses
  /// Whether an offer of `h2c` is treated like that of any other protocol. BuildKit's clients make one.
  package var tunnelsH2C = false

  package init() {}

  package static let defaults = HTTP1Configuration()

  /// - Throws: ``HTTP1Failure`` with code `invalidConfiguration`. Its message names the field.
  package func check() throws(HTTP1Failure) {
    try Self.check("head.startLineSize", head.startLineSize, 64...1 << 20)
    try Self.check("head.size", head.size, head.startLineSize...1 << 24)
    try Self.check("head.fieldCount", head.fieldCount, 1...1 << 14)
    try Self.check("chunks.headerSize", chunks.headerSize, 16...1 << 20)
    try Self.check("chunks.trailerSize", chunks.trailerSize, 0...1 << 24)
    try Self.check("chunks.trailerCount", chunks.trailerCount, 0...1 << 14)
    try Self.check("informationalResponses", informationalResponses, 0...1 << 14)
  }

  private static func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws(HTTP1Failure) {
    guard !range.contains(value) else { return }
    throw HTTP1Failure(
      .invalidConfiguration, "\(name) is \(value): it must be from \(range.lowerBound) to \(range.upperBound).",
      status: 500)
  }
}
