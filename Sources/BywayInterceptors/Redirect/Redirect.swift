public import Byway
public import HTTPTypes

/// An interceptor that follows redirects (RFC 9110 §15.4): 301, 302, 303, 307 and 308 with a `Location`, within `http` and `https`.
///
/// A POST becomes a GET where browsers make it one. A 307 or 308 repeats the same request; if its body is not replayable, the
/// caller gets the redirect. Credentials and cookies are not sent to another origin, and a request by `https` does not continue in
/// the clear.
public struct Redirect: Interceptor {
  /// Decides whether to follow a redirect.
  /// - Parameters:
  ///   - response: The redirect.
  ///   - next: The request that would follow it. It may be changed.
  /// - Returns: The request to send; `nil` to pass the redirect itself to the caller.
  public typealias Decision = @Sendable (_ response: HTTPResponse, _ next: Request) async throws -> Request?

  public let scope: Scope
  /// The limit of redirects in a row; one more is an error.
  public let limit: Int
  private let decide: Decision

  /// Creates the interceptor.
  /// - Parameters:
  ///   - scope: The requests that it applies to.
  ///   - limit: The limit of redirects in a row; one more is an error.
  ///   - decide: Called before each redirect is followed.
  public init(
    scope: Scope = .everything, limit: Int = 20, decide: @escaping Decision = { $1 }
  ) {
    self.scope = scope
    self.limit = limit
    self.decide = decide
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    var request = request
    var count = 0
    while true {
      let response = try await next(request)
      guard let rule = RedirectRule(response.head, to: request.head),
        let following = try await decide(response.head, rule.request(after: request))
      else { return response }
      guard count < limit else {
        throw BywayError(
          .refused,
          "More than \(limit) redirects in a row, the last one to \(rule.target.place): the origin sends its clients"
            + " in a cycle, perhaps because it wants a cookie.")
      }
      // The body has been sent, and only the caller can provide it again.
      if rule.keepsContent, !following.body.isReplayable { return response }
      count += 1
      await response.discard()
      request = following
    }
  }
}
