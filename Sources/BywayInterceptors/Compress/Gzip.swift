import NIOCore

/// Whole pieces of data as gzip (RFC 1952).
package enum Gzip {
  /// Returns the compressed form. Data that does not shrink is stored.
  package static func encode(_ bytes: [UInt8]) throws -> [UInt8] {
    let encoder = GzipEncoder()
    var rest = ByteBuffer(bytes: bytes)
    var result = ByteBuffer()
    while rest.readableBytes > 0 { try encoder.code(&rest, into: &result) }
    try encoder.finish(into: &result)
    return Array(result.readableBytesView)
  }
}
