public import Byway
import HTTPTypes
import NIOCore

/// Sends a request again after a failure of the link, where it is certain that this does no harm.
///
/// That is the case where the failure says that nobody acted on the request, and otherwise only for idempotent methods
/// after a lost or refused connection (RFC 9110 §9.2.2). A body must be replayable, and a tunnel is never opened twice.
/// An answer is never cause for another try, whatever its status, as it says that the request arrived. The client
/// itself tries again for a few seconds; this is for outages that last longer.
///
/// Each request's deadline covers all of its tries.
public struct Retry: Interceptor {
  public let scope: Scope
  /// Tries in all, the first one included.
  public let attempts: Int
  private let clock: any Clock<Duration>
  private let random: @Sendable () -> Double

  /// Repeats what failed.
  /// - Parameters:
  ///   - scope: which requests it takes part in.
  ///   - attempts: tries in all, the first one included; between them it waits 100 ms, 200 ms and so on to 5 s, less a random part of up to a half.
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
    request.head.method != .connect && request.body.isReplayable && RetryRules.permit(error, request: request.head)
  }
}
