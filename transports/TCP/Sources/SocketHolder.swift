internal import Byway
internal import Glibc

/// The process that listens on a TCP port of this machine, as far as this user may see (proc_pid_fd(5)).
struct SocketHolder: Sendable, Hashable {
  let processID: pid_t
  let name: String?

  /// Blocks shortly.
  init?(ofPort port: Int) {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { ProcFile.lines(of: $0) }
    let inodes = Set(tables.compactMap { Self.inode(ofListenerIn: $0, port: port) })
    guard !inodes.isEmpty, let holder = Self.process(holding: inodes) else { return nil }
    processID = holder
    name = ProcFile.lines(of: "/proc/\(holder)/comm").first?.visible
  }

  static func inode(ofListenerIn line: String, port: Int) -> String? {
    ListeningSocket(line).flatMap { $0.port == port ? $0.inode : nil }
  }

  private static func process(holding inodes: Set<String>) -> pid_t? {
    for process in ProcFile.names(in: "/proc").compactMap({ pid_t($0) }) {
      if !ProcFile.sockets(of: process).isDisjoint(with: inodes) { return process }
    }
    return nil
  }
}

extension SocketHolder: CustomStringConvertible {
  var description: String { "process \(processID)" + (name.map { " (\($0))" } ?? "") }
}
