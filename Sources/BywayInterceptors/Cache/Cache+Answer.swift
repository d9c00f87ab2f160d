import Byway
import HTTPTypes

/// Answers from the store.
extension Cache {
  func saved(by stored: StoredResponse?, _ request: Request) async -> Response {
    if let stored, let answer = await answer(stored, to: request.head, .saved) { return answer }
    return unsatisfiable(isOffline: false)
  }

  /// - Returns: `nil` if the body is gone.
  func answer(_ stored: StoredResponse, to request: HTTPRequest, _ status: CacheStatus) async -> Response? {
    var head = HTTPResponse(status: .init(code: stored.status), headerFields: stored.fields)
    let now = now()
    head.headerFields[.age] = String(max(stored.age(at: now).components.seconds, 0))
    status.remaining(.zero - rules.staleness(of: stored, at: now)).add(to: &head)
    if CacheRules.isNotModified(stored, for: request.headerFields) {
      head.status = .notModified
      head.headerFields[.contentLength] = nil
      return Response(head)
    }
    if request.method == .head { return Response(head) }
    if let range = CacheRules.range(of: request, in: stored) {
      return await part(range, of: stored, head)
    }
    guard let body = await store.body(of: stored) else { return nil }
    return Response(head, body: body).answering(request)
  }

  private func part(_ range: ByteRange, of stored: StoredResponse, _ head: HTTPResponse) async -> Response? {
    var head = head
    guard let bytes = range.bytes(of: stored.length) else {
      head.status = .rangeNotSatisfiable
      head.headerFields[.contentRange] = "bytes */\(stored.length)"
      head.headerFields[.contentLength] = "0"
      return Response(head)
    }
    guard let body = await store.body(of: stored) else { return nil }
    head.status = .partialContent
    head.headerFields[.contentRange] = "bytes \(bytes.lowerBound)-\(bytes.upperBound - 1)/\(stored.length)"
    head.headerFields[.contentLength] = String(bytes.count)
    return Response(head, body: body.part(bytes))
  }

  func unsatisfiable(isOffline: Bool) -> Response {
    let reason =
      isOffline
      ? "The origin cannot be reached, and no stored response may be served without asking it.\n"
      : "Only a stored response was wanted, and none may be served without asking the origin.\n"
    return Response(
      status: .gatewayTimeout,
      fields: [.contentType: "text/plain; charset=utf-8", .cacheStatus: "byway; detail=unsatisfiable"],
      body: Body(reason))
  }
}
