package import Byway
import HTTPTypes

/// An interceptor that injects the faults requested through the inspector: it slows requests down, answers in place of the far end,
/// and cuts responses off.
///
/// Safe on any thread. While there are no fault rules, requests bypass it.
package final class FaultRules: OccasionalInterceptor {
  package let list = RuleList<FaultRule>()
  private let clock: any Clock<Duration>
  private let noteDelay: @Sendable (_ request: Request, _ isDelayed: Bool) -> Void

  /// - Parameter noteDelay: called before and after the delay of a request.
  package init(
    clock: any Clock<Duration> = ContinuousClock(),
    noteDelay: @escaping @Sendable (_ request: Request, _ isDelayed: Bool) -> Void = { _, _ in }
  ) {
    self.clock = clock
    self.noteDelay = noteDelay
  }

  package var isNeeded: Bool { list.count > 0 }

  package func intercept(_ request: Request, next: Next) async throws -> Response {
    let effects = list.all(for: request.head).map(\.effect)
    guard !effects.isEmpty else { return try await next(request) }
    // The data in a tunnel is not a body that could be slowed down or cut.
    let isTunnel = request.head.kind.asksForTunnel
    var request = request
    for effect in effects {
      switch effect {
      case .delay(let time): try await delay(request, for: time)
      case .answer(let status):
        return Self.answer(status).answering(request.head)
      case .pace(let pace) where !isTunnel: request.body = request.body.throttled(to: pace, clock: clock)
      case .pace, .cut: break
      }
    }
    var response = try await next(request)
    if isTunnel { return response }
    for effect in effects {
      switch effect {
      case .pace(let pace): response.body = response.body.throttled(to: pace, clock: clock)
      case .cut(let count): response.body = response.body.cut(after: count)
      case .delay, .answer: break
      }
    }
    return response
  }

  private func delay(_ request: Request, for time: Duration) async throws {
    noteDelay(request, true)
    defer { noteDelay(request, false) }
    try await clock.sleep(for: time, tolerance: nil)
  }

  private static func answer(_ status: HTTPResponse.Status) -> Response {
    // These responses have no content, and so no type of it (RFC 9110 §15.3.5, §15.4.5).
    if status.code == 204 || status.code == 304 { return Response(status: status) }
    return Response(
      status: status, fields: [.contentType: "text/plain; charset=utf-8"],
      body: Body("The inspector answers this in the far end's place.\n"))
  }
}
