public import Byway
import HTTPTypes
import Synchronization

/// An interceptor that compresses bodies on a slow link and restores them at its other end: neither caller nor origin notices.
///
/// Place it at both ends of the link, nearest to it: last in a client's or a proxy's interceptors, first in a gateway's.
///
///     proxyConfiguration.interceptors = [Compress(at: .client)]
///     gatewayConfiguration.interceptors = [Compress(at: .gateway)]
///
/// The link carries gzip (RFC 1952), declared by `Content-Encoding` and marked by a field that the other end removes. Tags, ranges,
/// lengths and digests are those of the origin's content, and arrive unchanged. Content that is compressed already passes as it is:
/// images, archives, and anything with a `Content-Encoding`. Bodies stream: each chunk can be read at the other end as soon as it
/// has arrived.
///
/// If only one end has it, nothing is compressed, and nothing fails. A client's requests are compressed once the gateway has shown
/// that it can restore them.
///
/// The length of a compressed body can reveal secrets in it: do not use it if an attacker can make a client send requests and
/// measure the traffic on the link.
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

  /// Creates the interceptor for one of the two ends.
  /// - Parameters:
  ///   - end: The end at which this interceptor is.
  ///   - scope: The requests that it applies to; the same at both ends.
  public init(at end: End, scope: Scope = .everything) {
    self.end = end
    self.scope = scope
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    // A tunnel's bytes are not content.
    guard !request.head.kind.asksForTunnel else { return try await next(request) }
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
    // These fields belong to the link; an origin must not set them.
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

  /// The abilities of the gateway according to its last answer.
  private final class Gateway: Sendable {
    private let value = Atomic(false)

    var restores: Bool {
      get { value.load(ordering: .relaxed) }
      set { value.store(newValue, ordering: .relaxed) }
    }
  }
}
