import Primitives

/// Goes through checks, keeps what they have seen, and closes what they have opened.
package actor Examination {
  /// Why the checks that would come next are not made.
  package enum Over: Error {
    /// A check has found what is wrong.
    case wrong
    /// A check, or all of them together, took too long.
    case late
    case cancelled
  }

  private struct TooLong: Error {}

  /// Of all checks together. Closing what was opened takes a moment, too.
  package static let limit = Duration.seconds(19)

  package nonisolated let belongings = Belongings()
  private let limit: Duration
  private let observer: @Sendable (Step) async -> Void
  private let began = ContinuousClock.now
  private(set) var steps: [Step] = []

  /// - Parameters:
  ///   - limit: of all checks together.
  ///   - observer: told of each step as it is made.
  package init(within limit: Duration = limit, observer: @escaping @Sendable (Step) async -> Void = { _ in }) {
    self.limit = limit
    self.observer = observer
  }

  package var duration: Duration { ContinuousClock.now - began }

  /// Makes a check, and hands its conclusion to those that need it.
  package func make<C: Check>(_ check: C) async throws(Over) -> C.Conclusion {
    let start = ContinuousClock.now
    let limit = min(check.limit, self.limit - duration)
    let finding: Finding<C.Conclusion>
    do {
      finding = try await withTimeLimit(limit, throwing: TooLong()) { [belongings] in
        try await check.examine(belongings)
      }
    } catch is TooLong {
      let seconds = Int(limit / .seconds(1))
      await note(C.title, .undecided("This took longer than \(seconds) s, and was given up."), since: start)
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

  /// Says why a check is not made.
  package func skip<C: Check>(_ check: C.Type, because reason: String) async {
    await note(C.title, .skipped(reason), since: .now)
  }

  private func note(_ title: String, _ outcome: Step.Outcome, since start: ContinuousClock.Instant) async {
    let step = Step(title: title, outcome: outcome, duration: ContinuousClock.now - start)
    steps.append(step)
    await observer(step)
  }
}
