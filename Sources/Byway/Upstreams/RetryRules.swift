import BywayHTTPWire
package import HTTPTypes

/// Whether a request that failed may be sent again (RFC 9110 §9.2.2).
package enum RetryRules {
  /// The requests that an upstream repeats.
  package enum Repetition: Sendable {
    /// Idempotent requests, and others that were certainly not processed.
    case idempotent
    /// Only requests that were certainly not processed: the remote end counts them, or acts on each.
    case unprocessed
  }

  /// The maximum number of attempts, including the first.
  static let maximumAttempts = 4

  static func permit(_ error: BywayError, request: FieldSection, _ repetition: Repetition = .idempotent) -> Bool {
    permit(error, isIdempotent: isIdempotent(request, repetition))
  }

  package static func permit(_ error: BywayError, request: HTTPRequest) -> Bool {
    permit(error, isIdempotent: idempotentMethods.contains { "\($0)" == request.method.rawValue })
  }

  private static func permit(_ error: BywayError, isIdempotent: @autoclosure () -> Bool) -> Bool {
    switch error.processing {
    case .none: true
    case .possible: isRetriable(error.code) && isIdempotent()
    }
  }

  private static func isRetriable(_ code: BywayError.Code) -> Bool {
    code == .linkLost || code == .originLost || code == .refused
  }

  /// Whether a request may be sent again after it was possibly processed.
  static func isIdempotent(_ request: FieldSection, _ repetition: Repetition) -> Bool {
    repetition == .idempotent && isIdempotent(request)
  }

  /// The methods that RFC 9110 §9.2 defines as idempotent; a tunnel is not.
  static func isIdempotent(_ request: FieldSection) -> Bool {
    request.withValue(of: .method) { method in
      idempotentMethods.contains { method.equals($0) }
    } ?? false
  }

  private static let idempotentMethods: [StaticString] = ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]
}
