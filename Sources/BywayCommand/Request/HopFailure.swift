import Byway
import HTTPTypes

/// Tells an answer of the origin from one that a gateway or proxy gave because it could not reach it.
enum HopFailure {
  /// What the hop says; `nil` where the answer is the origin's.
  static func message(in response: HTTPResponse) -> String? {
    guard response.status.code >= 400, let name = HTTPField.Name("Proxy-Status"),
      let field = response.headerFields[name], let status = ProxyStatus(field)
    else { return nil }
    return status.details ?? "The far end answered \(HeadText.text(of: response.status))."
  }
}

/// Makes an error of such an answer, for those who want nothing but the origin's.
struct HopFailures: Interceptor {
  func intercept(_ request: Request, next: Next) async throws -> Response {
    let response = try await next(request)
    guard let message = HopFailure.message(in: response.head) else { return response }
    throw BywayError(.originUnavailable, message)
  }
}
