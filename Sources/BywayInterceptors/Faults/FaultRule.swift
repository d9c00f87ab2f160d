package import Byway
package import HTTPTypes

/// A fault to inject into some requests, in order to test how their senders cope with it.
package struct FaultRule: LiveRule, Hashable {
  package static let terms = RuleTerms("fault rule", count: 50)

  package enum Effect: Sendable, Hashable {
    /// A delay before the request is forwarded.
    case delay(Duration)
    /// A limit of the rate of the request's and the response's body, in bytes per second; at least 1.
    case pace(Int)
    /// An answer with this status; the request is not forwarded.
    case answer(HTTPResponse.Status)
    /// A response that fails after this number of bytes of its body.
    case cut(Int)
  }

  package let scope: Scope
  package let effect: Effect

  /// The number of bytes of its texts.
  package var byteCount: Int { scope.byteCount }

  package init(_ effect: Effect, of scope: Scope = .everything) {
    self.effect = effect
    self.scope = scope
  }

  package func matches(_ request: HTTPRequest) -> Bool { scope.contains(request) }
}

extension Scope {
  /// The number of bytes of its texts.
  package var byteCount: Int {
    methods.reduce(0) { $0 + $1.rawValue.utf8.count } + (hosts + paths).reduce(0) { $0 + $1.utf8.count }
  }
}
