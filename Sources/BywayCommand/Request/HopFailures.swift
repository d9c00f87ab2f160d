import Byway
import HTTPTypes

/// Turns an answer that a gateway or proxy made for a failure into an error, for callers that only want the origin's answers.
struct HopFailures: Interceptor {
  func intercept(_ request: Request, next: Next) async throws -> Response {
    let response = try await next(request)
    guard let message = HopFailure.message(in: response.head) else { return response }
    throw BywayError(.originUnavailable, message)
  }
}
