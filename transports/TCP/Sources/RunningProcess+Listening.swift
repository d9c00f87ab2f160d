import BywayPrimitives

extension RunningProcess {
  /// The number of times that the kernel's table is read. It comes in pieces, and while others open and close sockets, a piece may lack one.
  private static let attempts = 3

  /// Finds the process that listens on a TCP port of this machine, if it is visible to this user (proc_pid_fd(5)). Blocks
  /// briefly.
  init?(listeningOn port: Int) {
    guard let holder = (0..<Self.attempts).lazy.compactMap({ _ in Self.holder(of: port) }).first else { return nil }
    self.init(holder)
  }

  private static func holder(of port: Int) -> Int32? {
    let sockets = ["/proc/net/tcp", "/proc/net/tcp6"].flatMap { KernelFile.lines(of: $0) }.compactMap(
      ListeningSocket.init)
    let inodes = Set(sockets.filter { $0.port == port }.map(\.inode))
    return inodes.isEmpty ? nil : all.first { !Self.sockets(of: $0).isDisjoint(with: inodes) }
  }
}
