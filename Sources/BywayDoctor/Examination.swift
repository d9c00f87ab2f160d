import Primitives

/// Makes checks, records their outcomes, and closes the resources that they have opened.
package actor Examination {
  /// The reason for making no further checks.
  package enum Over: Error {
    /// A check has found a fault.
    case wrong
    /// A check, or all checks together, took too long.
    case late
    case cancelled
  }

  private struct TooLong: Error {}

  /// The time limit of all checks together. Closing the resources takes a moment more.
  package static let limit = Duration.seconds(19)

  package nonisolated let resources = OpenedResources()
  private let limit: Duration
  private let observer: @Sendable (Step) async -> Void
  private let began = ContinuousClock.now
  private(set) var steps: [Step] = []

  /// - Parameters:
  ///   - limit: the time limit of all checks together.
  ///   - observer: called with each step as it ends.
  package init(within limit: Duration = limit, observer: @escaping @Sendable (Step) async -> Void = { _ in }) {
    self.limit = limit
    self.observer = observer
  }

  package var duration: Duration { ContinuousClock.now - began }

  /// Makes a check, and returns its conclusion for later checks.
  package func make<C: Check>(_ check: C) async throws(Over) -> C.Conclusion {
    let start = ContinuousClock.now
    let limit = min(check.limit, self.limit - duration)
    let finding: Finding<C.Conclusion>
    do {
      finding = try await withTimeLimit(limit, throwing: TooLong()) { [resources] in
        try await check.examine(resources)
      }
    } catch is TooLong {
      let seconds = Int(limit / .seconds(1))
      await note(C.title, .undecided("This took longer than \(seconds) s and was cancelled."), since: start)
      throw .late
    } catch {
      if Task.isCancelled || error is CancellationError { throw .cancelled }
      await note(C.title, .wrong(Diagnosis(.unexplained, "\(error)".visible), saw: nil), since: start)
      throw .wrong
    }
    switch finding {
    case .sound(let saw, let conclusion):
      await note(C.title, .sound(saw), since: start)
      return conclusion
    case .noted(let saw, let diagnosis, let conclusion):
      await note(C.title, .noted(saw, diagnosis), since: start)
      return conclusion
    case .undecided(let saw, let conclusion):
      await note(C.title, .undecided(saw), since: start)
      return conclusion
    case .wrong(let diagnosis, let saw):
      await note(C.title, .wrong(diagnosis, saw: saw), since: start)
      throw .wrong
    }
  }

  /// Records why a check is not made.
  package func skip<C: Check>(_ check: C.Type, because reason: String) async {
    await note(C.title, .skipped(reason), since: .now)
  }

  private func note(_ title: String, _ outcome: Step.Outcome, since start: ContinuousClock.Instant) async {
    let step = Step(title: title, outcome: outcome, duration: ContinuousClock.now - start)
    steps.append(step)
    await observer(step)
  }
}
