import Byway

/// Records the data that passes between the user and the other interceptors.
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
