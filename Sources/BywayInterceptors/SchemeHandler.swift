public import Byway
import HTTPTypes

/// An interceptor that answers the URLs of a custom scheme, such as `key://vault/one`: with a function, or over a link.
public struct SchemeHandler: Interceptor {
  public let scope: Scope
  private let respond: @Sendable (Request) async throws -> Response

  /// Creates a handler that answers with a function.
  /// - Throws: `BywayError` with code `unknownScheme` if the text is not a scheme (RFC 3986 §3.1).
  public init(_ scheme: String, respond: @escaping @Sendable (Request) async throws -> Response) throws {
    guard URIReference.isScheme(scheme.utf8) else {
      throw BywayError(
        .unknownScheme,
        "\"\(scheme)\" is not a URL scheme: write a letter, then letters, digits, \"+\", \"-\" or \".\".",
        processing: .none)
    }
    scope = Scope(schemes: [scheme.lowercased()])
    self.respond = respond
  }

  /// Creates a handler that sends requests with this scheme over a link: `device://hub/status` as `http://hub/status`.
  ///
  /// If an answer refers to itself under the other scheme, for example in `Location`, the custom scheme is restored.
  /// - Parameters:
  ///   - scheme: The scheme, without the colon.
  ///   - client: The client of the link. It is not shut down here.
  ///   - other: The scheme that the far end knows.
  /// - Throws: `BywayError` with code `unknownScheme` if the text is not a scheme.
  public init(_ scheme: String, over client: BywayClient, as other: String = "http") throws {
    try self.init(scheme) { request in
      var sent = request
      sent.head.scheme = other
      var response = try await client.execute(sent)
      for name in [HTTPField.Name.location, .contentLocation] {
        guard let reference = response.fields[name] else { continue }
        let target = TargetURI(sent.head)
        let resolved = target.resolving(URIReference(reference))
        guard URIReference(reference).scheme != nil, resolved.hasOrigin(of: target) else { continue }
        response.head.headerFields[name] = "\(scheme.lowercased())://\(resolved.authority)\(resolved.path)"
      }
      return response
    }
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    try await respond(request).answering(request.head)
  }
}
