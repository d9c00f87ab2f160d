/// A check of one aspect of a link. Its inputs are its stored properties, and its finding has its result.
///
/// Each check has its own file, next to the transport whose medium it examines, or here if it applies to any medium.
package protocol Check: Sendable {
  /// The result that later checks need.
  associatedtype Conclusion: Sendable

  /// The one or two words at the beginning of its line in the report: "permission".
  static var title: String { get }

  /// The time limit of the check.
  var limit: Duration { get }

  /// Makes the check. It must undo every change that it makes, and must not harm the peer.
  /// - Parameter resources: collects the resources that it opens, and closes them however the examination ends.
  func examine(_ resources: OpenedResources) async throws -> Finding<Conclusion>
}

extension Check {
  package var limit: Duration { .seconds(5) }
}

/// The outcome of a check, with its diagnosis.
package enum Finding<Conclusion: Sendable>: Sendable {
  /// The check found no fault.
  case sound(_ saw: String, Conclusion)
  /// The link works, with a remark.
  case noted(_ saw: String, Diagnosis, Conclusion)
  /// The check has no result: the driver does not report it, or later checks have to find the cause. Not counted as a fault.
  case undecided(_ saw: String, Conclusion)
  /// The check found a fault. Later checks would be meaningless.
  case wrong(Diagnosis, saw: String? = nil)
}

extension Finding where Conclusion == Void {
  package static func sound(_ saw: String) -> Finding { .sound(saw, ()) }
  package static func noted(_ saw: String, _ diagnosis: Diagnosis) -> Finding { .noted(saw, diagnosis, ()) }
  package static func undecided(_ saw: String) -> Finding { .undecided(saw, ()) }
}
