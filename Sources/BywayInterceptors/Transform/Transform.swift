public import Byway
import BywayHTTPWire
import BywayPrimitives
public import HTTPTypes

/// An interceptor that rewrites the bodies of responses while they stream.
///
///     Transform(mediaTypes: ["text/html"]) { _ in Replacement(of: "http://10.0.0.1/", with: "/") }
///
/// A rewritten body is another representation, and the head says so: no length, no digest, no ranges, a weak tag. The interceptor
/// asks for uncompressed bodies. A body that is compressed nevertheless passes unchanged; so does one whose origin says
/// `no-transform` (RFC 9110 §7.7).
public struct Transform: Interceptor {
  public let scope: Scope
  private let mediaTypes: Set<String>
  private let make: @Sendable (HTTPResponse) -> (any BodyTransformation)?

  /// Creates an interceptor that rewrites the bodies of some responses.
  /// - Parameters:
  ///   - scope: The requests that it applies to.
  ///   - mediaTypes: The types of the responses, without parameters: `text/html`. Empty for all.
  ///   - make: Called with each response's head; returns `nil` to leave that response unchanged.
  public init(
    scope: Scope = .everything, mediaTypes: Set<String> = [],
    _ make: @escaping @Sendable (HTTPResponse) -> (any BodyTransformation)?
  ) {
    self.scope = scope
    self.mediaTypes = Set(mediaTypes.map { $0.lowercased() })
    self.make = make
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    var request = request
    // Ranges and compressed bytes cannot be rewritten.
    for name in [HTTPField.Name.range, .ifRange] where request.head.headerFields.contains(name) {
      request.head.headerFields[name] = nil
    }
    request.head.headerFields[.acceptEncoding] = "identity"
    var response = try await next(request)
    guard isTransformable(response.head, to: request.head), let transformation = make(response.head) else {
      return response
    }
    response.head.headerFields = Self.transformed(response.fields)
    // A HEAD's answer is the head that a GET would have.
    if request.head.method != .head, response.status != .notModified {
      response.body = response.body.transformed(by: transformation)
    }
    return response
  }

  private func isTransformable(_ response: HTTPResponse, to request: HTTPRequest) -> Bool {
    guard response.status.kind == .successful || response.status == .notModified || response.status.code >= 400 else {
      return false
    }
    guard !request.kind.asksForTunnel, response.status != .partialContent else { return false }
    let fields = response.headerFields
    // A 304 need not name the type of what it confirms. Its tag must match the one that clients were given.
    let isWanted =
      mediaTypes.isEmpty
      || fields[.contentType].map { mediaTypes.contains(MediaType.essence($0)) } ?? (response.status == .notModified)
    guard isWanted else { return false }
    let coding = fields[.contentEncoding]?.trimmed.lowercased() ?? "identity"
    let isForbidden = fields[.cacheControl].map { ListMembers($0).contains { $0.lowercased() == "no-transform" } }
    return coding == "identity" && isForbidden != true
  }

  private static func transformed(_ fields: HTTPFields) -> HTTPFields {
    var fields = fields
    for name in [HTTPField.Name.contentLength, .contentMD5, .contentDigest, .reprDigest, .acceptRanges] {
      fields[name] = nil
    }
    if let tag = fields[.eTag].flatMap({ EntityTag($0) }), !tag.isWeak {
      fields[.eTag] = EntityTag(tag.opaque, isWeak: true).description
    }
    return fields
  }
}
