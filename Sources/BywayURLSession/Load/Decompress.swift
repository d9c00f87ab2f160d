import Byway
import BywayHTTPWire
import BywayInterceptors
import HTTPTypes
import NIOCore

/// Requests compressed bodies if the app does not decide about that, and decompresses them, as Foundation's own HTTP does.
///
/// A request with an `Accept-Encoding` of its own gets the body as sent. A part of a compressed body cannot be decompressed, so
/// a request with `Range` does not ask for compression.
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
    // The length counts compressed bytes. An app would compare it with the bytes that it gets.
    response.head.headerFields[.contentLength] = nil
    let original = response.body
    response.body = codings.reversed().reduce(original) { body, coding in
      Body(CodedBody(body) { ContentDecoder(coding) }, trailers: { await original.trailers() })
    }
    return response
  }
}

/// A content coding that can be decoded here (RFC 9110 §8.4.1).
enum ContentCoding {
  case gzip, deflate, brotli(BrotliLibrary)

  /// The value of `Accept-Encoding`.
  static let accepted = BrotliLibrary.ofSystem == nil ? "gzip, deflate" : "gzip, deflate, br"

  /// The maximum number of codings. More do not make a body smaller, and each takes memory.
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

  /// Returns the codings of a body in the order of their application; `nil` if one of them is unknown.
  static func list(_ fields: [String]) -> [ContentCoding]? {
    let codings = fields.flatMap { ListMembers($0) }.filter { $0.lowercased() != "identity" }
    guard codings.count <= limit else { return nil }
    let known = codings.compactMap { ContentCoding($0) }
    return known.count == codings.count ? known : nil
  }
}
