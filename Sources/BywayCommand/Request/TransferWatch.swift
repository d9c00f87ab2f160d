import Byway

/// Notes what passes between the user and everything that stands behind.
struct TransferWatch: Interceptor {
  let record: TransferRecord

  func intercept(_ request: Request, next: Next) async throws -> Response {
    var request = request
    // A body that is known to be empty must stay so.
    if request.body.length != 0 { request.body = request.body.measured { record.sent($0 ?? 0) } }
    var response = try await next(request)
    record.responded(response.head)
    response.body = response.body.measured { record.received($0 ?? 0) }
    return response
  }
}
