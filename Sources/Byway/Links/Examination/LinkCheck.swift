import BywayPrimitives

/// A check of one aspect of a link. Its inputs are its stored properties, and its finding has its result.
///
/// Each check has its own file, next to the transport whose medium it examines, or in the doctor if it applies to any medium.
package protocol LinkCheck: Sendable {
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

extension LinkCheck {
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

/// The reason for making no further checks.
package enum ExaminationEnd: Error {
  /// A check has found a fault.
  case wrong
  /// A check, or all checks together, took too long.
  case late
  case cancelled
}

extension LinkCheck {
  /// Makes the check within its limit and another one.
  /// - Returns: the step for the report, `nil` after a cancellation, and the conclusion for later checks.
  package func made(
    within limit: Duration, _ resources: OpenedResources
  ) async -> (step: LinkStep?, result: Result<Conclusion, ExaminationEnd>) {
    let start = ContinuousClock.now
    let limit = min(self.limit, limit)
    func step(_ outcome: LinkStep.Outcome) -> LinkStep {
      LinkStep(title: Self.title, outcome: outcome, duration: ContinuousClock.now - start)
    }
    do {
      switch try await withTimeLimit(limit, throwing: TooLong(), { try await examine(resources) }) {
      case .sound(let saw, let conclusion): return (step(.sound(saw)), .success(conclusion))
      case .noted(let saw, let diagnosis, let conclusion):
        return (step(.noted(saw, diagnosis)), .success(conclusion))
      case .undecided(let saw, let conclusion): return (step(.undecided(saw)), .success(conclusion))
      case .wrong(let diagnosis, let saw): return (step(.wrong(diagnosis, saw: saw)), .failure(.wrong))
      }
    } catch is TooLong {
      return (step(.late(after: limit)), .failure(.late))
    } catch {
      if Task.isCancelled || error is CancellationError { return (nil, .failure(.cancelled)) }
      return (step(.wrong(Diagnosis(.unexplained, "\(error)".visible), saw: nil)), .failure(.wrong))
    }
  }
}

private struct TooLong: Error {}

extension LinkStep.Outcome {
  /// The outcome of a check that was given up.
  package static func late(after limit: Duration) -> LinkStep.Outcome {
    .undecided("This took longer than \(Int(limit / .seconds(1))) s and was cancelled.")
  }
}
