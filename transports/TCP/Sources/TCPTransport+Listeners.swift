import Byway
import BywayLibC
import BywayPrimitives

extension TCPTransport: ListenerListing {
  /// Returns the listeners that a `tcp:` link, which stays on this machine, can reach.
  package func listeners(of processID: Int32) -> [String] {
    let inodes = RunningProcess.sockets(of: processID)
    let tables = ["tcp": "127.0.0.1", "tcp6": "[::1]"].sorted { $0.key < $1.key }
    return tables.flatMap { table, host in
      KernelFile.lines(of: "/proc/net/\(table)").compactMap { line in
        guard let socket = ListeningSocket(line), inodes.contains(socket.inode) else { return nil }
        return "tcp://\(host):\(socket.port)"
      }
    }
  }
}

/// A line of /proc/net/tcp: `0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 4711 …`.
struct ListeningSocket: Hashable {
  let port: Int
  let inode: String

  init?(_ line: Substring) {
    let columns = line.split(separator: " ")
    // 0A is TCP_LISTEN.
    guard columns.count > 9, columns[3] == "0A", let colon = columns[1].lastIndex(of: ":"),
      let port = Int(columns[1][columns[1].index(after: colon)...], radix: 16)
    else { return nil }
    self.port = port
    inode = String(columns[9])
  }
}
