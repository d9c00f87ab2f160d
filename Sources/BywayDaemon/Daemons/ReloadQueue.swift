/// Runs one reload at a time.
///
/// A reload that is requested while another one runs starts after it, because the running one may have read the file already. All
/// requests of that time share it.
actor ReloadQueue<Outcome: Sendable> {
  private enum State {
    case idle
    case running(Task<Outcome, Never>)
    case queued(Task<Outcome, Never>, behind: Task<Outcome, Never>)
  }

  private var state = State.idle

  /// Starts the reload, or queues it behind the one that is running.
  /// - Parameter reload: ignored if a reload is queued already.
  /// - Returns: the reload that serves this request.
  func request(_ reload: @escaping @Sendable () async -> Outcome) -> Task<Outcome, Never> {
    switch state {
    case .idle:
      let task = Task { await perform(reload) }
      state = .running(task)
      return task
    case .running(let current):
      let task = Task {
        _ = await current.value
        return await perform(reload)
      }
      state = .queued(task, behind: current)
      return task
    case .queued(let queued, behind: _):
      return queued
    }
  }

  private func perform(_ reload: @Sendable () async -> Outcome) async -> Outcome {
    let outcome = await reload()
    state = if case .queued(let next, behind: _) = state { .running(next) } else { .idle }
    return outcome
  }
}
