import Byway
import HTTPTypes

/// The compression of messages for the link.
enum LinkCoding {
  static let name = "gzip"
  /// Shorter bodies gain nothing.
  private static let leastLength = 256

  /// The declared length, if there is one.
  enum Length {
    case known(Int)
    case unknown
  }

  /// Returns `nil` if the body should not be compressed.
  static func lengthToCode(_ fields: HTTPFields, _ body: Body) -> Length? {
    guard fields[.contentEncoding] == nil, let type = fields[.contentType], isCompressible(MediaType.essence(type))
    else { return nil }
    guard let length = body.length ?? fields[.contentLength].flatMap({ Int($0) }) else { return .unknown }
    return length >= leastLength ? .known(length) : nil
  }

  static func code(_ fields: inout HTTPFields, _ body: inout Body, length: Length) {
    fields[.contentEncoding] = name
    fields[.bywayCoding] = name
    fields[.contentLength] = nil
    if case .known(let length) = length { fields[.bywayLength] = String(length) }
    let original = body
    body = Body(
      CodedBody(original) { GzipEncoder() }, isReplayable: original.isReplayable,
      trailers: { await original.trailers() })
  }

  /// Undoes ``code(_:_:length:)``; leaves other messages alone.
  /// - Throws: `BywayError` if the message has another coding.
  static func restore(_ fields: inout HTTPFields, _ body: inout Body, of message: String) throws {
    guard let coding = fields[.bywayCoding] else { return }
    guard coding == name, fields[.contentEncoding] == name else {
      throw BywayError(
        .protocolViolation,
        "The \(message)'s body is coded for the link as \"\(coding.prefix(40))\", which this end does not know: are both "
          + "ends of the same version?")
    }
    let length = fields[.bywayLength].flatMap { Int($0) }.flatMap { $0 >= 0 ? $0 : nil }
    fields[.contentEncoding] = nil
    fields[.bywayCoding] = nil
    fields[.bywayLength] = nil
    fields[.contentLength] = length.map { String($0) }
    let coded = body
    body = Body(
      CodedBody(coded) { GzipDecoder(expecting: length, of: "The \(message)'s body, compressed for the link,") },
      length: length,
      isReplayable: coded.isReplayable, trailers: { await coded.trailers() })
  }

  /// Whether a type is text, is based on text, or is known to shrink.
  static func isCompressible(_ essence: String) -> Bool {
    MediaType.isText(essence) || others.contains(essence) || essence.hasPrefix("font/") && !essence.contains("woff")
  }

  private static let others: Set<String> = [
    "application/cbor", "application/ndjson", "application/x-ndjson", "application/jsonlines", "application/msgpack",
    "application/protobuf", "application/rtf", "application/sql", "application/wasm", "application/x-javascript",
    "application/x-protobuf", "application/x-sh", "application/x-tar", "application/yaml", "image/bmp",
    "image/svg+xml", "image/vnd.microsoft.icon", "image/x-icon", "model/gltf+json",
  ]
}

extension HTTPField.Name {
  private static func own(_ name: StaticString) -> HTTPField.Name { HTTPField.Name("\(name)") ?? .contentEncoding }

  /// The sender can restore bodies in this coding.
  static let bywayAcceptCoding = own("byway-accept-coding")
  /// This `Content-Encoding` belongs to the link.
  static let bywayCoding = own("byway-coding")
  /// The number of bytes of the body before it was coded, if its length was declared.
  static let bywayLength = own("byway-length")

  static let ofLinkCoding = [bywayAcceptCoding, bywayCoding, bywayLength]
}
