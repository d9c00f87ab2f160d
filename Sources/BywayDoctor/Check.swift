/// One look at one thing: what it needs are its stored properties, what it concludes is its finding's.
///
/// Each is a file of its own, next to the transport whose medium it looks at, or here where any medium has it.
package protocol Check: Sendable {
  /// What those checks need that come after this one.
  associatedtype Conclusion: Sendable

  /// One or two words that begin its line of the report: "permission".
  static var title: String { get }

  /// How long it may take.
  var limit: Duration { get }

  /// Looks. It must change nothing that it does not put back, and do no harm to who is at the far end.
  /// - Parameter belongings: take what it opens, and close that however the examination ends.
  func examine(_ belongings: Belongings) async throws -> Finding<Conclusion>
}

extension Check {
  package var limit: Duration { .seconds(5) }
}

/// What a check has seen, and what that means.
package enum Finding<Conclusion: Sendable>: Sendable {
  /// As it should be.
  case sound(_ saw: String, Conclusion)
  /// It works, and there is something to be said.
  case noted(_ saw: String, Diagnosis, Conclusion)
  /// It cannot be told: the driver does not say, or later checks have to find the reason. Not counted as a fault.
  case undecided(_ saw: String, Conclusion)
  /// What comes after it would have no sense.
  case wrong(Diagnosis, saw: String? = nil)
}

extension Finding where Conclusion == Void {
  package static func sound(_ saw: String) -> Finding { .sound(saw, ()) }
  package static func noted(_ saw: String, _ diagnosis: Diagnosis) -> Finding { .noted(saw, diagnosis, ()) }
  package static func undecided(_ saw: String) -> Finding { .undecided(saw, ()) }
}
