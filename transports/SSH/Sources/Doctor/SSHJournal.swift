import Synchronization

/// What the sessions of a transport have learned on their way, server by server: for whoever examines a link. Sessions that keep
/// one write nothing down elsewhere: a new host is taken for known, and stays new.
///
/// Safe on any thread.
package final class SSHJournal: Sendable {
  /// By how many stops lie behind: the last one on the way is 0.
  private let pages = Mutex<[Int: SSHVisit]>([:])
  let mayAsk: Bool

  /// - Parameter mayAsk: whether a person at the terminal may be asked for passwords and passphrases.
  package init(mayAsk: Bool) {
    self.mayAsk = mayAsk
  }

  /// The servers in the order in which they are met: those of ProxyJump first.
  package var visits: [SSHVisit] {
    pages.withLock { pages in pages.sorted { $0.key > $1.key }.map(\.value) }
  }

  /// Where one session writes.
  struct Page: Sendable {
    fileprivate let journal: SSHJournal
    fileprivate let depth: Int

    func note(_ change: (inout SSHVisit) -> Void) {
      journal.pages.withLock { pages in
        if var visit = pages[depth] {
          change(&visit)
          pages[depth] = visit
        }
      }
    }
  }

  /// A new page; one that an earlier session has written at that place is gone.
  func open(_ visit: SSHVisit, depth: Int) -> Page {
    pages.withLock { $0[depth] = visit }
    return Page(journal: self, depth: depth)
  }
}
