public import Byway

/// An interceptor that answers in place of an origin: for tests, for demonstrations, for a service that does not exist yet.
///
///     Stub(.init(paths: ["/status"]), answer: .fixed(.ok, body: Body("fine")))
///     Stub(answer: .failing(BywayError(.linkLost, "pulled")).delayed(by: .seconds(1)))
///
/// Requests outside of its scope are forwarded.
public struct Stub: Interceptor {
  public let scope: Scope
  private let answer: Answer

  /// Creates a stub with an answer for a scope.
  /// - Parameters:
  ///   - scope: The requests to answer; by default all.
  ///   - answer: The answer to them.
  public init(_ scope: Scope = .everything, answer: Answer) {
    self.scope = scope
    self.answer = answer
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    try await answer.respond(request).answering(request.head)
  }
}
