/// The actions of an inspector, beyond showing exchanges. Safe on any thread.
package struct InspectorActions: Sendable {
  /// Sends requests like those of clients; `nil` if that is not possible.
  let send: Resending.Send?
  let rules: InspectorRules?
  let line: (any InspectedLine)?

  package init(send: Resending.Send? = nil, rules: InspectorRules? = nil, line: (any InspectedLine)? = nil) {
    self.send = send
    self.rules = rules
    self.line = line
  }

  /// The names of the available actions: docs/inspector.md.
  var names: [String] {
    (send == nil ? [] : ["resend"]) + (rules == nil ? [] : ["faults", "breakpoints", "stubs"])
      + (line == nil ? [] : ["line"])
  }
}

/// An emulated line, whose faults the inspector's user may choose.
package protocol InspectedLine: Sendable {
  var isPulled: Bool { get }
  func setPulled(_ isPulled: Bool)
  /// Names of error rates, and the one in force.
  var errorRates: [String] { get }
  var errorRate: String { get }
  /// - Returns: whether there is a rate of that name.
  func setErrorRate(_ name: String) -> Bool
}
