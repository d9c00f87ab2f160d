import Byway
import BywayInterceptors
import HTTPTypes
import HTTPWire
import NIOCore

/// Asks for compressed bodies if the app leaves that open, and restores them, as Foundation's own HTTP does.
///
/// A request with an `Accept-Encoding` of its own gets what the server sends. A part of a compressed body cannot be restored, so
/// that a request with `Range` asks for no compression.
struct Decompress: Interceptor {
  func intercept(_ request: Request, next: Next) async throws -> Response {
    guard request.head.headerFields[.acceptEncoding] == nil, request.head.headerFields[.range] == nil else {
      return try await next(request)
    }
    var request = request
    request.head.headerFields[.acceptEncoding] = ContentCoding.accepted
    var response = try await next(request)
    guard request.head.method != .head, ![204, 206, 304].contains(response.status.code),
      let codings = ContentCoding.list(response.fields[values: .contentEncoding]), !codings.isEmpty
    else { return response }
    // It counts compressed bytes: an app would compare those that it gets with it.
    response.head.headerFields[.contentLength] = nil
    let original = response.body
    response.body = codings.reversed().reduce(original) { body, coding in
      Body(CodedBody(body) { ContentDecoder(coding) }, trailers: { await original.trailers() })
    }
    return response
  }
}

/// A coding of content that can be undone here (RFC 9110 §8.4.1).
enum ContentCoding {
  case gzip, deflate, brotli(BrotliLibrary)

  /// The value of `Accept-Encoding`.
  static let accepted = BrotliLibrary.ofSystem == nil ? "gzip, deflate" : "gzip, deflate, br"

  /// More of them make no body smaller. Each takes memory.
  private static let limit = 5

  private init?(_ name: String) {
    switch name.lowercased() {
    case "gzip", "x-gzip": self = .gzip
    case "deflate": self = .deflate
    case "br":
      guard let library = BrotliLibrary.ofSystem else { return nil }
      self = .brotli(library)
    default: return nil
    }
  }

  /// The codings of a body, in the order in which they were applied; `nil` if one of them is unknown.
  static func list(_ fields: [String]) -> [ContentCoding]? {
    let codings = fields.flatMap { ListMembers($0) }.filter { $0.lowercased() != "identity" }
    guard codings.count <= limit else { return nil }
    let known = codings.compactMap { ContentCoding($0) }
    return known.count == codings.count ? known : nil
  }
}
