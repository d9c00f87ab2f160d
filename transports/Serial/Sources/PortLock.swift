internal import Glibc

/// The lock that keeps two programs off one line. The kernel undoes it however the holder ends.
///
/// It is advice, which Byway, picocom, minicom and others look for. `TIOCEXCL` besides keeps out those that do not, but
/// not the superuser.
enum PortLock {
  /// - Throws: ``SerialFailure/inUse(_:by:)``.
  static func take(_ descriptor: CInt, path: String) throws {
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    guard errno == EWOULDBLOCK else {
      throw SerialFailure.unusable(path, "it cannot be locked: \(SystemError(code: errno))")
    }
    throw SerialFailure.inUse(path, by: PortHolder(of: path))
  }
}

/// A process that has a port.
struct PortHolder: Sendable, Hashable {
  let processID: pid_t
  /// `nil` where the process is gone or not ours to see.
  let name: String?

  init(processID: pid_t) {
    self.processID = processID
    name = SystemFiles.text(of: "/proc/\(processID)/comm").map { String($0.prefix { $0 != "\n" }).visible }
  }

  /// Whoever has the lock, else anyone that this user may see.
  init?(of path: String) {
    guard let holder = Self.ofLock(on: path) ?? Self.others(withOpen: path).first else { return nil }
    self = holder
  }

  /// Who locked a file (proc_locks(5)).
  static func ofLock(on path: String, locks: String = "/proc/locks") -> PortHolder? {
    guard let status = try? SystemFiles.status(of: path), let text = SystemFiles.text(of: locks, limit: 1 << 20) else {
      return nil
    }
    let device = UInt64(status.st_dev)
    let major = (device >> 8) & 0xFFF | (device >> 32) & ~0xFFF
    let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
    for line in text.split(separator: "\n") {
      // 1: FLOCK ADVISORY WRITE 4711 00:06:345 0 EOF; "->" in the second column marks one that waits.
      let columns = line.split(separator: " ")
      guard columns.count >= 6, columns[1] == "FLOCK", let processID = pid_t(columns[4]), processID > 0 else {
        continue
      }
      let file = columns[5].split(separator: ":")
      guard file.count == 3, UInt64(file[0], radix: 16) == major, UInt64(file[1], radix: 16) == minor,
        UInt64(file[2]) == UInt64(status.st_ino)
      else { continue }
      return PortHolder(processID: processID)
    }
    return nil
  }

  /// Others that have a device open, as far as this user may see.
  static func others(withOpen path: String) -> [PortHolder] {
    guard let device = try? SystemFiles.status(of: path).st_rdev else { return [] }
    return SystemFiles.names(in: "/proc").compactMap { pid_t($0) }.filter { processID in
      guard processID != getpid() else { return false }
      let folder = "/proc/\(processID)/fd"
      return SystemFiles.names(in: folder).contains { name in
        guard let status = try? SystemFiles.status(of: "\(folder)/\(name)") else { return false }
        return status.st_mode & S_IFMT == S_IFCHR && status.st_rdev == device
      }
    }.map(PortHolder.init)
  }
}

extension PortHolder: CustomStringConvertible {
  /// "process 4711 (byway)"
  var description: String { "process \(processID)" + (name.map { " (\($0))" } ?? "") }
}
