import Byway
import BywayInterceptors
import BywayPrimitives
import BywayTerminal
import HTTPTypes

/// Sends a request through a proxy as it would go over the link itself, where any host means the gateway's origin. A proxy answers only
/// for its own names, because web pages may send requests to it.
struct ProxiedHost: Interceptor {
  private static let ownName = "localhost"

  let isSilent: Bool

  func intercept(_ request: Request, next: Next) async throws -> Response {
    let response = try await next(request)
    guard response.status == .misdirectedRequest, HopFailure.message(in: response.head) != nil,
      !request.head.kind.asksForTunnel, request.head.scheme == "http", let host = request.head.authority,
      host != Self.ownName, request.body.isReplayable
    else { return response }
    await response.discard()
    if !isSilent {
      StandardStream.error.writeLine(
        "byway: The proxy does not answer for \(host.visible), so the request is for \(Self.ownName): the gateway's origin."
      )
    }
    var request = request
    request.head.authority = Self.ownName
    return try await next(request)
  }
}
