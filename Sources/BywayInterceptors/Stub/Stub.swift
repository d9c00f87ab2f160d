public import Byway

/// Answers in place of an origin: for tests, for demonstrations, for a service that does not exist yet.
///
///     Stub(.init(paths: ["/status"]), answer: .fixed(.ok, body: Body("fine")))
///     Stub(answer: .failing(BywayError(.linkLost, "pulled")).delayed(by: .seconds(1)))
///
/// What is out of its scope goes on as if it were not there.
public struct Stub: Interceptor {
  public let scope: Scope
  private let answer: Answer

  /// An answer for a scope.
  /// - Parameters:
  ///   - scope: which requests it answers; by default all.
  ///   - answer: what they get.
  public init(_ scope: Scope = .everything, answer: Answer) {
    self.scope = scope
    self.answer = answer
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    try await answer.respond(request).answering(request.head)
  }
}
