import Synchronization

/// Gives each advice only once, so that a port that comes and goes does not fill the log. Safe on any thread.
final class SingleAdvice: Sendable {
  private let given = Mutex<Set<String>>([])

  func giveOnce(_ topic: String, _ say: () -> Void) {
    if given.withLock({ $0.insert(topic).inserted }) { say() }
  }
}
