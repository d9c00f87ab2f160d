import Foundation
import TestPeers
import TestTools

/// A process that holds a port.
enum PortHolder {
  /// Starts a program of that name, which opens the port and locks it.
  static func start(named name: String, on path: String, in folder: TemporaryFolder) async throws -> ChildProcess {
    let program = folder[name]
    // Copied by the shell: a file written by this process may be busy while another child is being started.
    let script = #"cp /bin/sleep "$2"; exec 9<>"$1"; flock 9; echo locked; exec "$2" 60"#
    let process = try ChildProcess(Program.bash.path(), ["-c", script, "test", path, program])
    _ = try await process.outputLine(containing: "locked", within: .seconds(5))
    // The program itself starts a moment after the echo.
    _ = try await eventually {
      (try? String(contentsOfFile: "/proc/\(process.id)/comm", encoding: .utf8)) == name + "\n"
    }
    return process
  }

  static func hasLock(on path: String) -> Bool {
    let device = URL(filePath: path).resolvingSymlinksInPath().path
    guard let inode = (try? FileManager.default.attributesOfItem(atPath: device))?[.systemFileNumber] as? Int else {
      return false
    }
    let locks = (try? String(contentsOfFile: "/proc/locks", encoding: .utf8)) ?? ""
    return locks.contains(":\(inode) ")
  }
}
