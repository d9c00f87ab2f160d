import Synchronization

/// The current reason why a listener cannot be reached. Safe on any thread.
package final class UnavailableReason: Sendable {
  private let current = Mutex<String?>(nil)

  package init() {}

  package var text: String? {
    get { current.withLock(\.self) }
    set { current.withLock { $0 = newValue } }
  }
}
