import Synchronization

/// What a listener knows to be in the way of those who would come. Safe on any thread.
package final class Obstacle: Sendable {
  private let current = Mutex<String?>(nil)

  package init() {}

  package var text: String? {
    get { current.withLock(\.self) }
    set { current.withLock { $0 = newValue } }
  }
}
