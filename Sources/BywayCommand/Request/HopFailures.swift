import Byway
import HTTPTypes

/// Makes an error of such an answer, for those who want nothing but the origin's.
struct HopFailures: Interceptor {
  func intercept(_ request: Request, next: Next) async throws -> Response {
    let response = try await next(request)
    guard let message = HopFailure.message(in: response.head) else { return response }
    throw BywayError(.originUnavailable, message)
  }
}
