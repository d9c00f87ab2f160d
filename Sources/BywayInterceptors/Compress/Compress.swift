public import Byway
import HTTPTypes
import Synchronization

/// Compresses bodies for the way over a slow link, and restores them at its other end: neither caller nor origin sees
/// any of it.
///
/// It stands at both ends of the link, nearest to it: last in a client's or a proxy's interceptors, first in a
/// gateway's.
///
///     proxyConfiguration.interceptors = [Compress(at: .client)]
///     gatewayConfiguration.interceptors = [Compress(at: .gateway)]
///
/// What crosses the link is gzip (RFC 1952), declared by `Content-Encoding` and marked as the link's own by a field
/// that the other end takes off again. Tags, ranges, lengths and digests are those of what the origin sent, and arrive as
/// such. What is compressed already passes as it is: images, archives, whatever has a `Content-Encoding`. Bodies stream:
/// each chunk can be read at the other end as soon as it has arrived.
///
/// Where only one end has it nothing is compressed, and nothing breaks. A client's requests are compressed once the
/// gateway has shown that it can restore them.
///
/// Lengths of compressed secrets tell of the secrets: leave it out where a stranger can make somebody send requests and
/// measure what crosses the link.
public struct Compress: Interceptor {
  /// An end of the link.
  public enum End: Sendable {
    /// A client, or the proxy next to it.
    case client
    /// A gateway, next to its origin.
    case gateway
  }

  public let scope: Scope
  private let end: End
  private let gateway = Gateway()

  /// One of the two ends.
  /// - Parameters:
  ///   - end: where this interceptor stands.
  ///   - scope: which requests it takes part in; the same at both ends.
  public init(at end: End, scope: Scope = .everything) {
    self.end = end
    self.scope = scope
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    // A tunnel's bytes are nobody's content.
    guard request.head.method != .connect, !request.head.headerFields.contains(.upgrade) else {
      return try await next(request)
    }
    switch end {
    case .client: return try await ask(request, next: next)
    case .gateway: return try await answer(request, next: next)
    }
  }

  // MARK: The client's end

  private func ask(_ request: Request, next: Next) async throws -> Response {
    var request = request
    request.head.headerFields[.bywayAcceptCoding] = LinkCoding.name
    if gateway.restores, let length = LinkCoding.lengthToCode(request.head.headerFields, request.body) {
      LinkCoding.code(&request.head.headerFields, &request.body, length: length)
    }
    var response = try await next(request)
    gateway.restores = response.fields[.bywayAcceptCoding] == LinkCoding.name
    response.head.headerFields[.bywayAcceptCoding] = nil
    try LinkCoding.restore(&response.head.headerFields, &response.body, of: "response")
    return response
  }

  // MARK: The gateway's end

  private func answer(_ request: Request, next: Next) async throws -> Response {
    var request = request
    let isAsked = request.head.headerFields[.bywayAcceptCoding] == LinkCoding.name
    request.head.headerFields[.bywayAcceptCoding] = nil
    try LinkCoding.restore(&request.head.headerFields, &request.body, of: "request")
    var response = try await next(request)
    // These are the link's; an origin has no say in them.
    for name in HTTPField.Name.ofLinkCoding { response.head.headerFields[name] = nil }
    guard isAsked else { return response }
    response.head.headerFields[.bywayAcceptCoding] = LinkCoding.name
    if request.head.method != .head, response.status != .noContent, response.status != .notModified,
      let length = LinkCoding.lengthToCode(response.fields, response.body)
    {
      LinkCoding.code(&response.head.headerFields, &response.body, length: length)
    }
    return response
  }

  /// What is known of the gateway, from its last answer.
  private final class Gateway: Sendable {
    private let value = Atomic(false)

    var restores: Bool {
      get { value.load(ordering: .relaxed) }
      set { value.store(newValue, ordering: .relaxed) }
    }
  }
}
