import Synchronization

/// A record of what the sessions of a transport learn about each server on the path, for the examination of a link. Sessions
/// with a journal write nothing elsewhere: a new host is accepted but not added to known_hosts.
///
/// Safe on any thread.
package final class SSHJournal: Sendable {
  /// The pages by the number of servers that follow: the last server on the path has 0.
  private let pages = Mutex<[Int: SSHHop]>([:])
  let mayAsk: Bool

  /// - Parameter mayAsk: whether a person at the terminal may be asked for passwords and passphrases.
  package init(mayAsk: Bool) {
    self.mayAsk = mayAsk
  }

  /// The servers in the order of connection: jump hosts (ProxyJump) first.
  package var hops: [SSHHop] {
    pages.withLock { pages in pages.sorted { $0.key > $1.key }.map(\.value) }
  }

  /// The part of the journal that one session writes.
  struct Page: Sendable {
    fileprivate let journal: SSHJournal
    fileprivate let depth: Int

    func note(_ change: (inout SSHHop) -> Void) {
      journal.pages.withLock { pages in
        if var hop = pages[depth] {
          change(&hop)
          pages[depth] = hop
        }
      }
    }
  }

  /// Opens a new page. It replaces the page of an earlier session at the same depth.
  func open(_ hop: SSHHop, depth: Int) -> Page {
    pages.withLock { $0[depth] = hop }
    return Page(journal: self, depth: depth)
  }
}
