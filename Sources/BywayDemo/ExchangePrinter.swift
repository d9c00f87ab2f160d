import Byway
import HTTPTypes
import NIOCore

/// Reports every exchange at its end, including the response's body. Passes bodies through unchanged.
struct ExchangePrinter: Interceptor {
  let report: @Sendable (PrintedExchange) -> Void

  func intercept(_ request: Request, next: Next) async throws -> Response {
    let start = NIODeadline.now()
    let watch = ExchangeWatch(request.head, start: start, report: report)
    var response = try await next(request)
    watch.status = response.status.code
    response.body = watch.following(response.body)
    return response
  }
}

/// An exchange that is reported when its last reference is released, however it ends.
///
/// `@unchecked Sendable`: interceptors and bodies of an exchange run as one task at a time, on its event loop.
private final class ExchangeWatch: @unchecked Sendable {
  var status: Int?
  private var bytes = 0
  private var isComplete = false
  private let head: HTTPRequest
  private let start: NIODeadline
  private let report: @Sendable (PrintedExchange) -> Void

  init(_ head: HTTPRequest, start: NIODeadline, report: @escaping @Sendable (PrintedExchange) -> Void) {
    self.head = head
    self.start = start
    self.report = report
  }

  deinit {
    report(
      PrintedExchange(
        method: head.method.rawValue, path: head.path ?? "*", status: status, bytes: bytes, time: .now() - start,
        isComplete: isComplete))
  }

  func following(_ body: Body) -> Body {
    body.measured { bytes in
      if let bytes { self.bytes += bytes } else { self.isComplete = true }
    }
  }
}
