import Glibc
import Primitives

/// Processes that have a port.
extension RunningProcess {
  /// Whoever has the lock, else anyone that this user may see.
  init?(holding path: String) {
    guard let holder = Self.ofLock(on: path) ?? Self.others(withOpen: path).first else { return nil }
    self = holder
  }

  /// Who locked a file (proc_locks(5)).
  static func ofLock(on path: String, locks: String = "/proc/locks") -> RunningProcess? {
    guard let wanted = try? FileStatus(of: path).identity else { return nil }
    let device = wanted.device
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
    for line in KernelFile.lines(of: locks) {
      // 1: FLOCK ADVISORY WRITE 4711 00:06:345 0 EOF; "->" in the second column marks one that waits.
      let columns = line.split(separator: " ")
      guard columns.count >= 6, columns[1] == "FLOCK", let id = pid_t(columns[4]), id > 0 else { continue }
      let file = columns[5].split(separator: ":")
      guard file.count == 3, UInt64(file[0], radix: 16) == major, UInt64(file[1], radix: 16) == minor,
        UInt64(file[2]) == wanted.inode
      else { continue }
      return RunningProcess(id)
    }
    return nil
  }

  /// Others that have a device open, as far as this user may see.
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
