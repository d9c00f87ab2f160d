import Glibc
import Primitives

/// Why a port cannot be opened now, as lists of ports say it.
enum PortObstacle {
  /// - Parameter own: a process whose hold on the port is none.
  static func text(at path: String, besides own: Int32? = nil) -> String? {
    if let holder = holder(of: path), holder.id != own { return "in use by \(holder)" }
    guard access(path, R_OK | W_OK) != 0 else { return nil }
    return DeviceGroup(of: path).name.map { "only group \($0) may open it" } ?? "no permission"
  }

  /// Who emulates a line has both ends of it open; whoever uses one of them has locked it.
  static func holder(of path: String) -> RunningProcess? {
    (try? FileStatus(of: path))?.isPseudoTerminal == true
      ? RunningProcess.ofLock(on: path) : RunningProcess(holding: path)
  }
}

extension FileStatus {
  /// By the device numbers that Linux gives to Unix 98 pseudo-terminals.
  var isPseudoTerminal: Bool { kind == .characterDevice && (136...143).contains((deviceNumber >> 8) & 0xFFF) }
}
