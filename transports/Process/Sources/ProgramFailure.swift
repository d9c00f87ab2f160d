import Byway
import BywayLibC
import BywayPrimitives

/// The diagnoses of a program that cannot be started, for errors and for the doctor.
enum ProgramFailure {
  static func diagnosis(of program: String, _ failure: ChildProcess.SpawnFailure) -> Diagnosis {
    switch failure.code {
    case ENOENT: path(of: program).map(withoutInterpreter) ?? missing(program)
    case EACCES: notExecutable(path(of: program) ?? program)
    case ENOEXEC:
      Diagnosis(.notExecutable, "\(program) is not a program of this machine; a script must begin with #!.")
    case let code: Diagnosis(.notExecutable, "Cannot start \(program): \(SystemError(code: code)).")
    }
  }

  static func missing(_ program: String) -> Diagnosis {
    Diagnosis(
      .noProgram,
      program.contains("/")
        ? "The program \(program) does not exist: check the path."
        : "Command not found: \(program). Install it, or write its full path.")
  }

  /// The system reports a script without its interpreter like a missing program.
  private static func withoutInterpreter(_ path: String) -> Diagnosis {
    Diagnosis(
      .notExecutable,
      "The interpreter of \(path) does not exist: install the program in its first line, after #!, or correct that line.",
      command: "head -1 \(ShellWord.of(path))")
  }

  static func notExecutable(_ path: String) -> Diagnosis {
    let status: FileStatus
    do {
      status = try FileStatus(of: path)
    } catch {
      return Diagnosis(.noPermission, "\(path) cannot be looked at: \(error).")
    }
    guard status.kind == .regular else {
      return Diagnosis(.notExecutable, "\(path) is not a program: correct the link.")
    }
    return Diagnosis(
      .notExecutable,
      "\(path) is not executable (mode \(String(status.permissions, radix: 8))): make it executable with chmod +x, or correct the link.",
      command: "chmod +x \(ShellWord.of(path))")
  }

  /// Returns the reason why a program cannot be started, as far as its file shows it; `nil` if it can.
  static func diagnosis(of program: String) -> Diagnosis? {
    guard let path = path(of: program) else { return missing(program) }
    return isExecutable(path) ? nil : notExecutable(path)
  }

  static func isExecutable(_ path: String) -> Bool {
    (try? FileStatus(of: path))?.kind == .regular && access(path, X_OK) == 0
  }

  /// Returns the path of a program, looked up in the search path if needed; `nil` if there is none.
  static func path(of program: String) -> String? {
    guard !program.contains("/") else { return access(program, F_OK) == 0 ? program : nil }
    // Like posix_spawnp(3), skips files that cannot be run, but remembers them.
    let folders = (Environment["PATH"] ?? "/bin:/usr/bin").split(separator: ":")
    let found = folders.map { "\($0)/\(program)" }.filter { (path: String) in access(path, F_OK) == 0 }
    return found.first { (path: String) in access(path, X_OK) == 0 } ?? found.first
  }
}
