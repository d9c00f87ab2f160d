public import Byway
import HTTPTypes
import NIOCore

/// An interceptor that sends a request again after a failure of the link, if it is certain that this does no harm.
///
/// It does none if the failure says that the request was not processed, and otherwise only for idempotent methods after a lost or
/// refused connection (RFC 9110 §9.2.2). A body must be replayable, and a tunnel is never opened twice. A response is never a
/// reason to try again, whatever its status, as it shows that the request arrived. The client itself tries again for a few seconds;
/// this is for outages that last longer.
///
/// Each request's deadline covers all of its attempts.
public struct Retry: Interceptor {
  public let scope: Scope
  /// The total number of attempts, including the first one.
  public let attempts: Int
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double

  /// Creates the interceptor.
  /// - Parameters:
  ///   - scope: The requests that it applies to.
  ///   - attempts: The total number of attempts, including the first one. It waits between them: 100 ms, 200 ms and so on up to 5
  ///     s, less a random part of up to a half.
  public init(scope: Scope = .everything, attempts: Int = 5) {
    self.init(scope: scope, attempts: attempts, clock: ContinuousClock(), random: { .random(in: 0...1) })
  }

  package init(
    scope: Scope = .everything, attempts: Int, clock: any Clock<Duration>, random: @escaping @Sendable () -> Double
  ) {
    self.scope = scope
    self.attempts = attempts
    self.clock = clock
    self.random = random
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    var backoff = Backoff()
    var tried = 1
    while true {
      do {
        return try await next(request)
      } catch let error as BywayError {
        guard tried < attempts, mayRepeat(request, after: error) else { throw error }
        tried += 1
        backoff.fail()
        let pause = backoff.pause(fraction: random())
        if let deadline = request.deadline, .now() + pause >= deadline { throw error }
        try await clock.sleep(for: .nanoseconds(pause.nanoseconds), tolerance: nil)
      }
    }
  }

  private func mayRepeat(_ request: Request, after error: BywayError) -> Bool {
    !request.head.kind.asksForTunnel && request.body.isReplayable && RetryRules.permit(error, request: request.head)
  }
}
