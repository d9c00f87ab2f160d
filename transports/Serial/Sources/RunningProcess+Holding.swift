import BywayLibC
import BywayPrimitives

/// Processes that use a port.
extension RunningProcess {
  /// Finds the holder of the lock, or otherwise a process that has the port open and is visible to this user.
  init?(holding path: String) {
    guard let holder = Self.ofLock(on: path) ?? Self.others(withOpen: path).first else { return nil }
    self = holder
  }

  /// Returns the process that locked a file (proc_locks(5)).
  ///
  /// The process that took a lock may have passed it on and ended, like a daemon that forks or a script's flock(1).
  static func ofLock(on path: String, locks: String = "/proc/locks") -> RunningProcess? {
    guard let wanted = try? FileStatus(of: path).identity else { return nil }
    let device = wanted.device
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
    for line in KernelFile.lines(of: locks) {
      // Example: 1: FLOCK ADVISORY WRITE 4711 00:06:345 0 EOF. "->" in the second column marks a waiting process.
      let columns = line.split(separator: " ")
      guard columns.count >= 6, columns[1] == "FLOCK", let id = pid_t(columns[4]), id > 0 else { continue }
      let file = columns[5].split(separator: ":")
      guard file.count == 3, UInt64(file[0], radix: 16) == major, UInt64(file[1], radix: 16) == minor,
        UInt64(file[2]) == wanted.inode
      else { continue }
      return isRunning(id)
        ? RunningProcess(id) : others(withOpen: path).first { hasLock(on: path, $0.id) } ?? RunningProcess(id)
    }
    return nil
  }

  /// Whether the process has the file open with the lock (proc_pid_fdinfo(5)).
  private static func hasLock(on path: String, _ id: Int32) -> Bool {
    guard let identity = try? FileStatus(of: path).identity else { return false }
    return openFiles(of: id).contains { file in
      let facts = "/proc/\(id)/fdinfo/\(file.split(separator: "/").last ?? "")"
      return (try? FileStatus(of: file).identity) == identity && KernelFile.text(of: facts)?.contains("lock:") == true
    }
  }

  /// Finds a process whose terminal is this device: a login, or a shell. This is visible for the processes of all users.
  init?(withTerminal path: String) {
    guard let device = try? FileStatus(of: path).deviceNumber else { return nil }
    let found = Self.all.first { id in
      // The fields after the name, which may contain any characters: state, parent, process group, session, and the device number of
      // the terminal (proc_pid_stat(5)).
      let fields = KernelFile.text(of: "/proc/\(id)/stat")?.split(separator: ")").last?.split(separator: " ")
      guard let fields, fields.count > 4, let terminal = Int32(fields[4]) else { return false }
      return UInt64(UInt32(bitPattern: terminal)) == device
    }
    guard let found else { return nil }
    self.init(found)
  }

  /// Returns the other processes that have a device open and are visible to this user.
  static func others(withOpen path: String) -> [RunningProcess] {
    guard let device = try? FileStatus(of: path).deviceNumber else { return [] }
    return all.filter { id in
      id != getpid()
        && openFiles(of: id).contains { file in
          guard let status = try? FileStatus(of: file) else { return false }
          return status.kind == .characterDevice && status.deviceNumber == device
        }
    }.map { RunningProcess($0) }
  }
}
