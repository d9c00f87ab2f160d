import BywayPrimitives

extension RunningProcess {
  /// Finds the process that listens on a TCP port of this machine, if it is visible to this user (proc_pid_fd(5)). Blocks
  /// briefly.
  init?(listeningOn port: Int) {
    let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { KernelFile.lines(of: $0) }.compactMap(
      ListeningSocket.init)
    let inodes = Set(sockets.filter { $0.port == port }.map(\.inode))
    guard !inodes.isEmpty, let holder = Self.all.first(where: { !Self.sockets(of: $0).isDisjoint(with: inodes) }) else {
      return nil
    }
    self.init(holder)
  }
}
