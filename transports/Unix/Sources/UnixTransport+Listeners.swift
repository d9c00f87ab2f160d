import Byway
import BywayLibC
import BywayPrimitives

extension UnixTransport: ListenerListing {
  /// Returns the listening sockets with a path.
  package func listeners(of processID: Int32) -> [String] {
    let inodes = RunningProcess.sockets(of: processID)
    return KernelFile.lines(of: "/proc/net/unix").compactMap { line in
      // 0000000065555c58: 00000002 00000000 00010000 0001 01 3051579 /run/app.sock
      let columns = line.split(separator: " ", maxSplits: 7)
      // The flag 00010000 is __SO_ACCEPTCON.
      guard columns.count == 8, columns[3] == "00010000", columns[7].hasPrefix("/"), inodes.contains(String(columns[6]))
      else { return nil }
      return "unix:\(columns[7])"
    }
  }
}
