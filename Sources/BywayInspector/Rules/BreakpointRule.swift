import Byway
import BywayInterceptors
import HTTPTypes

/// A rule that pauses some exchanges.
struct BreakpointRule: LiveRule, Hashable {
  static let terms = RuleTerms("breakpoint", count: 32)

  /// The place at which it pauses an exchange.
  enum Point: String, Sendable {
    /// Before the request goes on.
    case request
    /// Before the response goes on.
    case response
  }

  let scope: Scope
  let point: Point
  /// The statuses of responses; `nil`: any.
  var statuses: ClosedRange<Int>?

  var byteCount: Int { scope.byteCount }

  func matches(_ request: HTTPRequest) -> Bool { scope.contains(request) }
}
