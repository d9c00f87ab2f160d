import Foundation
import TestTools

extension ChildProcess {
  /// Makes a socket pair in place of a pipe: it is created with close-on-exec, so no other child inherits it and the
  /// output ends with this child.
  static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard socketpair(AF_UNIX, type, 0, &ends) == 0 else {
      throw PeerFailure("no socket pair: \(String(cString: strerror(errno)))")
    }
    return (ends[0], ends[1])
  }

  /// The place of control sockets, unless a test sets another: daemons of the developer and of other tests are no part of a test.
  private static let runtimeFolder: TemporaryFolder? = {
    atexit { ChildProcess.removeRuntimeFolder() }
    return try? TemporaryFolder()
  }()

  private static func removeRuntimeFolder() {
    if let runtimeFolder { try? FileManager.default.removeItem(atPath: runtimeFolder.path) }
  }

  /// POSIX_SPAWN_SETSID, which the Glibc module does not export.
  private static let setsid: Int16 = 0x80

  /// Starts a program in a new session. Foundation's `Process` cannot do that: its child keeps the terminal of the tests.
  /// - Parameter socket: becomes the child's descriptor 3.
  static func spawn(
    _ path: String, _ arguments: [String], _ environment: [String: String], output: Int32, error: Int32,
    socket: Int32? = nil
  ) throws -> pid_t {
    var actions = posix_spawn_file_actions_t()
    var attributes = posix_spawnattr_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawnattr_init(&attributes)
    defer {
      posix_spawn_file_actions_destroy(&actions)
      posix_spawnattr_destroy(&attributes)
    }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, output, 1)
    posix_spawn_file_actions_adddup2(&actions, error, 2)
    // Closes inherited descriptors, for example listening sockets of other tests: NIO does not set close-on-exec on them.
    for name in (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? [] {
      guard let descriptor = Int32(name), descriptor > 2, descriptor != socket, fcntl(descriptor, F_GETFD) >= 0 else {
        continue
      }
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
    if let socket {
      posix_spawn_file_actions_adddup2(&actions, socket, 3)
      if socket != 3 { posix_spawn_file_actions_addclose(&actions, socket) }
    }
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK) | setsid)
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)

    let defaults = runtimeFolder.map { ["XDG_RUNTIME_DIR": $0.path] } ?? [:]
    let variables = ProcessInfo.processInfo.environment.merging(defaults) { $1 }.merging(environment) { $1 }
      .map { "\($0)=\($1)" }
    let argv = ([path] + arguments).map { strdup($0) } + [nil]
    let envp = variables.map { strdup($0) } + [nil]
    defer { (argv + envp).forEach { free($0) } }
    var id: pid_t = 0
    let code = posix_spawn(&id, path, &actions, &attributes, argv, envp)
    guard code == 0 else { throw PeerFailure("\(path) does not start: \(String(cString: strerror(code)))") }
    return id
  }
}
