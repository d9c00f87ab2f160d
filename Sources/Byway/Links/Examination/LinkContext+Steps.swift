extension LinkContext {
  /// Makes a check, reports it to the journal, and returns its conclusion for later checks.
  package func make<Check: LinkCheck>(_ check: Check) async throws(ExaminationEnd) -> Check.Conclusion {
    // Only an examination makes checks.
    guard let journal else { throw .cancelled }
    let (step, result) = await check.made(within: journal.timeLeft, journal.resources)
    if let step { journal.note(step) }
    return try result.get()
  }

  /// Makes a step of opening a link, and reports it to the journal.
  /// - Parameters:
  ///   - title: one or two words: "connects".
  ///   - fault: the fault if the step throws an error without a diagnosis.
  ///   - saw: the observation if the step succeeds. Only called for a journal.
  /// - Throws: the error of the body.
  package func step<Value>(
    _ title: String, or fault: LinkFault = .notConnected, isolation: isolated (any Actor)? = #isolation,
    saw: (Value, Duration) throws -> LinkStep.Outcome, _ body: () async throws -> Value
  ) async throws -> Value {
    let start = ContinuousClock.now
    do {
      let value = try await body()
      let time = ContinuousClock.now - start
      if let journal { journal.note(LinkStep(title: title, outcome: try saw(value, time), duration: time)) }
      return value
    } catch {
      guard !(error is CancellationError || error is ExaminationEnd) else { throw error }
      let failure = BywayError(error)
      let diagnosis = failure.diagnosis ?? Diagnosis(fault, failure.message)
      let time = ContinuousClock.now - start
      journal?.note(LinkStep(title: title, outcome: .wrong(diagnosis, saw: nil), duration: time))
      logger.debug(
        "A step of opening the link failed", metadata: ["step": "\(title)", "fault": "\(diagnosis.fault.rawValue)"])
      throw error
    }
  }
}
