public import Byway
public import HTTPTypes

/// An interceptor that gives every request its canonical form, so that later interceptors, above all a cache, see one spelling of
/// each URL (RFC 3986 §6.2, RFC 9110 §4.2.3).
///
/// Scheme and host become lower case. Default ports, user information and dot segments are removed. An empty path becomes `/`, and
/// percent-encoding takes one form. Fields that the request lacks are filled in from ``defaults``.
public struct Canonicalize: Interceptor {
  public let scope: Scope
  /// The fields to add if a request has none of that name.
  public let defaults: HTTPFields

  /// Creates the interceptor, with fields that should never be missing.
  /// - Parameters:
  ///   - scope: The requests that it applies to.
  ///   - defaults: The fields to add if a request has none of that name.
  public init(scope: Scope = .everything, defaults: HTTPFields = [.accept: "*/*"]) {
    self.scope = scope
    self.defaults = defaults
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    var request = request
    request.head = canonical(request.head)
    return try await next(request)
  }

  /// Returns the request in canonical form.
  package func canonical(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    let scheme = request.scheme?.lowercased()
    if request.scheme != scheme { request.scheme = scheme }
    // A tunnel's target is a host and a port, always both (RFC 9110 §9.3.6).
    let isTunnel = request.kind == .connect
    let authority = request.authority.map { CanonicalURI.authority($0, scheme: isTunnel ? nil : scheme) }
    if request.authority != authority { request.authority = authority }
    let path = isTunnel ? request.path : CanonicalURI.path(request.path ?? "")
    if request.path != path { request.path = path }
    for field in defaults where !request.headerFields.contains(field.name) {
      request.headerFields.append(field)
    }
    return request
  }
}
