import BywayLibC
import BywayPrimitives

/// The reason why a port cannot be opened now, for lists of ports.
enum PortProblem {
  /// - Parameter own: a process whose use of the port does not count.
  static func text(at path: String, besides own: Int32? = nil) -> String? {
    if let holder = holder(of: path), holder.id != own { return "in use by \(holder)" }
    guard access(path, R_OK | W_OK) != 0 else { return nil }
    return DeviceGroup(of: path).name.map { "only group \($0) may open it" } ?? "no permission"
  }

  /// Returns the process that uses the port. A program that emulates a line has both ends of it open, so on a pseudo-terminal
  /// only the lock counts.
  static func holder(of path: String) -> RunningProcess? {
    (try? FileStatus(of: path))?.isPseudoTerminal == true
      ? RunningProcess.ofLock(on: path) : RunningProcess(holding: path)
  }
}

extension FileStatus {
  /// Whether the device number is one of the Unix 98 pseudo-terminals of Linux.
  var isPseudoTerminal: Bool { kind == .characterDevice && (136...143).contains((deviceNumber >> 8) & 0xFFF) }
}
