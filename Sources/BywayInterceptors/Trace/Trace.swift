public import Byway
package import BywayPrimitives
import HTTPTypes
import Synchronization

/// An interceptor that records every exchange, with its timings: in a log, in a HAR file, or in any other ``TraceRecorder``.
///
/// Bodies stream through unchanged. At most `bodyLimit` bytes of each are kept for the record, by default none. Apparent secrets
/// are replaced before a recorder sees them. An exchange is recorded when its response's body has ended, failed or been
/// dropped. First in a chain, it sees what the caller sees; last, every attempt on the link.
public struct Trace: Interceptor {
  public let scope: Scope
  private let bodyLimit: Int
  private let redactor: Redactor
  private let recorders: [any TraceRecorder]
  private let clock: Clocks

  /// The two clocks of a record.
  package struct Clocks: Sendable {
    package var calendar: @Sendable () -> WallTime
    /// The time since any moment in the past; never goes back.
    package var uptime: @Sendable () -> Duration

    package init(calendar: @escaping @Sendable () -> WallTime, uptime: @escaping @Sendable () -> Duration) {
      self.calendar = calendar
      self.uptime = uptime
    }

    package static var system: Clocks {
      let start = ContinuousClock.now
      return Clocks(calendar: { .now() }, uptime: { ContinuousClock.now - start })
    }
  }

  /// Creates the interceptor.
  /// - Parameters:
  ///   - scope: The requests to record.
  ///   - bodyLimit: The number of bytes of each body to keep.
  ///   - redaction: The secrets to replace by `[redacted]`.
  ///   - recorders: The recorders, each of which gets every exchange.
  public init(
    scope: Scope = .everything, bodyLimit: Int = 0, redaction: Redaction = .defaults, to recorders: any TraceRecorder...
  ) {
    self.init(scope: scope, bodyLimit: bodyLimit, redaction: redaction, to: recorders, clock: .system)
  }

  package init(
    scope: Scope = .everything, bodyLimit: Int = 0, redaction: Redaction = .defaults, to recorders: [any TraceRecorder],
    clock: Clocks
  ) {
    self.scope = scope
    self.bodyLimit = bodyLimit
    redactor = Redactor(redaction)
    self.recorders = recorders
    self.clock = clock
  }

  public func intercept(_ request: Request, next: Next) async throws -> Response {
    let watch = ExchangeWatch(request.head, bodyLimit: bodyLimit, clock: clock) { [redactor, recorders] exchange in
      var exchange = exchange
      redactor.redact(&exchange)
      for recorder in recorders { recorder.record(exchange) }
    }
    var request = request
    request.body = request.body.watched(by: BodyWatch { watch.request($0) })
    request.onNote = { [earlier = request.onNote] note in
      watch.noted(note)
      earlier?(note)
    }
    do {
      var response = try await next(request)
      watch.responded(response.head)
      response.body = response.body.watched(by: BodyWatch { watch.response($0) })
      return response
    } catch {
      watch.failed(error)
      throw error
    }
  }
}

/// A recorder of what a ``Trace`` sees.
public protocol TraceRecorder: Sendable {
  /// Records an exchange. Called once for each, on any thread, often the link's event loop: it must not block.
  func record(_ exchange: TracedExchange)
}
