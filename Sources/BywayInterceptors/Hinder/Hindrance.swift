package import Byway
package import HTTPTypes

/// What is made harder for some requests, to see how their senders bear it.
package struct Hindrance: Sendable, Hashable {
  package enum Effect: Sendable, Hashable {
    /// The request goes on so much later.
    case delay(Duration)
    /// Bodies of the request and the response come at most so fast, in bytes a second; at least 1.
    case pace(Int)
    /// The request goes nowhere, and is answered with this status.
    case answer(HTTPResponse.Status)
    /// The response breaks off after so many bytes of its body.
    case cut(Int)
  }

  package let scope: Scope
  package let effect: Effect

  /// Of its texts.
  var byteCount: Int {
    scope.methods.reduce(0) { $0 + $1.rawValue.utf8.count }
      + (scope.hosts + scope.paths).reduce(0) { $0 + $1.utf8.count }
  }

  package init(_ effect: Effect, of scope: Scope = .everything) {
    self.effect = effect
    self.scope = scope
  }
}
