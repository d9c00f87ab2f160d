package import BywayInterceptors

/// What an inspector can do besides showing. Safe on any thread.
package struct InspectorActions: Sendable {
  /// Sends requests as if clients had; `nil` where that cannot be.
  let send: Resending.Send?
  let hindrances: Hindrances?
  let line: (any InspectedLine)?

  package init(send: Resending.Send? = nil, hindrances: Hindrances? = nil, line: (any InspectedLine)? = nil) {
    self.send = send
    self.hindrances = hindrances
    self.line = line
  }

  /// By the names that docs/inspector.md has for them.
  var names: [String] {
    (send == nil ? [] : ["resend"]) + (hindrances == nil ? [] : ["hinder"]) + (line == nil ? [] : ["line"])
  }
}

/// An emulated line, whose faults who looks may choose.
package protocol InspectedLine: Sendable {
  var isPulled: Bool { get }
  func setPulled(_ isPulled: Bool)
  /// Names of error rates, and the one in force.
  var errorRates: [String] { get }
  var errorRate: String { get }
  /// - Returns: whether there is one of that name.
  func setErrorRate(_ name: String) -> Bool
}
