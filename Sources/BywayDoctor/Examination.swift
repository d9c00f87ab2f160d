package import Byway
import BywayPrimitives
import NIOCore

/// Makes checks, records their outcomes, and closes the resources that they have opened.
package actor Examination {
  package typealias Over = ExaminationEnd

  private struct TooLong: Error {}

  /// The time limit of all checks together. Closing the resources takes a moment more.
  package static let limit = Duration.seconds(19)

  /// The time limits for opening a link: of the transport, and of this examination if the transport ignores it.
  private static let openingLimits = (transport: Duration.seconds(9), examination: Duration.seconds(12))

  package nonisolated let resources = OpenedResources()
  private let limit: Duration
  private let observer: @Sendable (LinkStep) async -> Void
  private let began = ContinuousClock.now
  private(set) var steps: [LinkStep] = []

  /// - Parameters:
  ///   - limit: the time limit of all checks together.
  ///   - observer: called with each step as it ends.
  package init(within limit: Duration = limit, observer: @escaping @Sendable (LinkStep) async -> Void = { _ in }) {
    self.limit = limit
    self.observer = observer
  }

  package var duration: Duration { ContinuousClock.now - began }

  /// Makes a check, and returns its conclusion for later checks.
  package func make<Check: LinkCheck>(_ check: Check) async throws(Over) -> Check.Conclusion {
    let (step, result) = await check.made(within: limit - duration, resources)
    if let step { await note(step) }
    return try result.get()
  }

  /// Records why a check is not made.
  package func skip<Check: LinkCheck>(_ check: Check.Type, because reason: String) async {
    await note(Check.title, .skipped(reason), since: .now)
  }

  /// Makes the checks of a transport.
  package func examine(
    _ address: LinkAddress, over transport: any Examinable
  ) async throws(Over) -> MediumState {
    let (result, failed, _) = await follow(within: limit - duration) { context in
      try await transport.examine(address, in: context)
    }
    if let failed { await note(failed) }
    switch result {
    case .success(let state): return state
    case .failure(let error): throw error as? Over ?? .cancelled
    }
  }

  /// Opens a link and closes it again. The transport reports the steps.
  package func open(_ address: LinkAddress, over transport: any Transport) async throws(Over) {
    let start = ContinuousClock.now
    let limit = min(Self.openingLimits.examination, self.limit - duration)
    let (result, failed, journal) = await follow(within: limit) { [resources] context in
      var context = context
      context.deadline = min(context.deadline, .now() + TimeAmount(Self.openingLimits.transport))
      let channel = try await withTimeLimit(limit, throwing: TooLong()) { [context] in
        try await resources.channel { try await transport.connect(to: address, context: context) }
      }
      let time = ContinuousClock.now - start
      try? await channel.close().get()
      return time
    }
    switch result {
    case .success(let time):
      guard journal.steps.isEmpty else { return }
      await note("connects", .sound("\(address.place) accepts, in \(time.inMilliseconds) ms."), since: start)
    case .failure(let error):
      if Task.isCancelled || error is CancellationError || error as? Over == .cancelled { throw .cancelled }
      if error is TooLong {
        await note("connects", .late(after: limit), since: start)
        throw .late
      }
      guard error as? Over != .late else {
        if let failed { await note(failed) }
        throw .late
      }
      let failure = BywayError(error)
      var diagnosis = failed?.diagnosis ?? failure.diagnosis ?? Diagnosis(.notConnected, failure.message)
      if let reached = journal.reached { diagnosis = await diagnosis.looking(at: reached, of: address) }
      await note(failed?.title ?? "connects", .wrong(diagnosis, saw: nil), since: start)
      throw .wrong
    }
  }

  /// Calls a transport, and records the steps that it reports, but for a fault.
  private func follow<Value: Sendable>(
    within limit: Duration, _ body: @escaping @Sendable (LinkContext) async throws -> Value
  ) async -> (result: Result<Value, any Error>, failed: LinkStep?, journal: LinkJournal) {
    // The journal bounds the number of steps.
    let (reported, report) = AsyncStream.makeStream(of: LinkStep.self)
    let journal = LinkJournal(within: limit, resources) { report.yield($0) }
    var context = LinkContext.ofExamination(within: TimeAmount(limit))
    context.journal = journal
    let calling = Task { [context] in
      defer { report.finish() }
      return try await body(context)
    }
    var failed: LinkStep?
    await withTaskCancellationHandler {
      for await step in reported {
        if step.isFault { failed = step } else { await note(step) }
      }
    } onCancel: {
      calling.cancel()
    }
    return (await calling.result, failed, journal)
  }

  private func note(_ title: String, _ outcome: LinkStep.Outcome, since start: ContinuousClock.Instant) async {
    await note(LinkStep(title: title, outcome: outcome, duration: ContinuousClock.now - start))
  }

  private func note(_ step: LinkStep) async {
    steps.append(step)
    await observer(step)
  }
}
