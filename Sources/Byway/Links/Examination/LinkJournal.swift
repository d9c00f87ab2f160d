package import NIOCore
import Synchronization

/// The steps of opening a link, as its transport reports them, for an examination. Bounded. Safe on any thread.
package final class LinkJournal: Sendable {
  /// The maximum number of steps. Further ones are dropped, except for a fault, which is the last one.
  package static let limit = 32

  private struct State {
    var steps: [LinkStep] = []
    var reached: SocketAddress?
  }

  private let state = Mutex(State())
  /// The resources that its checks have opened.
  package let resources: OpenedResources
  /// The time by which all steps end.
  private let end: ContinuousClock.Instant
  private let observer: @Sendable (LinkStep) -> Void

  /// - Parameters:
  ///   - limit: the time limit of all steps together.
  ///   - observer: called with each step as it ends.
  package init(
    within limit: Duration, _ resources: OpenedResources, observer: @escaping @Sendable (LinkStep) -> Void = { _ in }
  ) {
    self.resources = resources
    end = .now + limit
    self.observer = observer
  }

  var timeLeft: Duration { end - .now }

  package var steps: [LinkStep] { state.withLock(\.steps) }

  /// The network address that a step has connected to.
  package var reached: SocketAddress? {
    get { state.withLock(\.reached) }
    set { state.withLock { $0.reached = newValue } }
  }

  package func note(_ step: LinkStep) {
    let isKept = state.withLock { state in
      guard state.steps.count < Self.limit || step.isFault else { return false }
      state.steps.append(step)
      return true
    }
    if isKept { observer(step) }
  }
}
