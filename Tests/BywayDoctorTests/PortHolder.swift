import Foundation
import TestPeers
import TestTools

/// Who has a port.
enum PortHolder {
  /// Starts a program of that name, which has the port open, and its lock.
  static func start(named name: String, on path: String, in folder: TemporaryFolder) async throws -> ChildProcess {
    let program = folder[name]
    // Copied there: a file that this process has written is busy while another is being started.
    let script = #"cp /bin/sleep "$2"; exec 9<>"$1"; flock 9; echo locked; exec "$2" 60"#
    let process = try ChildProcess(Program.bash.path(), ["-c", script, "test", path, program])
    _ = try await process.outputLine(containing: "locked", within: .seconds(5))
    // From the echo to the program itself is a moment.
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
