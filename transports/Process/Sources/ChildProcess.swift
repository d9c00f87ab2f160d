@preconcurrency import BywayLibC
import BywayPrimitives
import Synchronization

/// A child process in a process group of its own. It is reaped as soon as it ends. Safe on any thread.
final class ChildProcess: Sendable {
  enum Exit: Sendable, Equatable {
    case status(CInt)
    case signal(CInt)
  }

  /// This process's ends of the three pipes. Their owner closes them.
  struct Pipes {
    var input: CInt
    var output: CInt
    var error: CInt
    /// The child's end of `input`. While it is open here, the pipe does not break before the exit is known.
    var inputReader: CInt
  }

  struct SpawnFailure: Error {
    let code: CInt
  }

  let processID: pid_t
  private let isReaped = Mutex(false)

  fileprivate init(processID: pid_t) {
    self.processID = processID
  }

  /// - Parameters:
  ///   - environment: variables in addition to those of this process, or in their place.
  ///   - onExit: called once, on a separate thread.
  static func spawn(
    _ words: [String], environment: [String: String] = [:], onExit: @escaping @Sendable (Exit) -> Void
  ) throws(SpawnFailure) -> (child: ChildProcess, pipes: Pipes) {
    let (child, pipes) = try spawnLock.withLock { _ throws(SpawnFailure) in
      try spawnWithPipes(words, environment)
    }
    waitInBackground(for: child, onExit)
    return (child, pipes)
  }

  /// Sends a signal to the whole group, so that processes started by the child end, too. Does nothing after the child has
  /// ended, because its process ID may have been reused.
  func signal(_ number: CInt) {
    isReaped.withLock { isReaped in
      if !isReaped { _ = kill(-processID, number) }
    }
  }

  /// Waits without reaping, and then reaps under the lock that guards ``signal(_:)``.
  fileprivate func waitForExit() -> Exit {
    var info = siginfo_t()
    while waitid(P_PID, id_t(processID), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    var status: CInt = 0
    isReaped.withLock { isReaped in
      while waitpid(processID, &status, 0) < 0, errno == EINTR {}
      isReaped = true
    }
    // The low seven bits are the signal, and the next byte is the status (wait(2)).
    let signal = status & 0x7F
    return signal == 0 ? .status(status >> 8 & 0xFF) : .signal(signal)
  }
}

/// Waits on a thread for each child, which does not affect other children of this program, nor SIGCHLD.
private func waitInBackground(for child: ChildProcess, _ onExit: @escaping @Sendable (ChildProcess.Exit) -> Void) {
  do throws(SystemError) {
    pthread_detach(try SystemThread.start { onExit(child.waitForExit()) })
  } catch {
    child.signal(SIGKILL)
    onExit(child.waitForExit())
  }
}

/// F_SETPIPE_SZ (fcntl(2)), which Swift does not import.
private let setPipeSize: CInt = 1031
private let pipeSize: CInt = 1 << 18

/// Held while pipes are created. This takes two steps, and the second one prevents other children from inheriting them.
private let spawnLock = Mutex(())

private func spawnWithPipes(
  _ words: [String], _ environment: [String: String]
) throws(ChildProcess.SpawnFailure) -> (ChildProcess, ChildProcess.Pipes) {
  var descriptors: [CInt] = []
  func pipe() throws(ChildProcess.SpawnFailure) -> (read: CInt, write: CInt) {
    var ends: [CInt] = [-1, -1]
    guard BywayLibC.pipe(&ends) == 0 else { throw .init(code: errno) }
    descriptors += ends
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
  }
  do {
    let input = try pipe()
    let output = try pipe()
    let error = try pipe()
    // A larger pipe than the default 64 KiB gave five times the throughput. Failure to enlarge it is not an error.
    for end in [input.write, output.read] { _ = fcntl(end, setPipeSize, pipeSize) }
    let processID = try start(words, environment, input: input.read, output: output.write, error: error.write)
    close(output.write)
    close(error.write)
    let pipes = ChildProcess.Pipes(
      input: input.write, output: output.read, error: error.read, inputReader: input.read)
    return (ChildProcess(processID: processID), pipes)
  } catch {
    for descriptor in descriptors { close(descriptor) }
    throw error
  }
}

private func start(
  _ words: [String], _ environment: [String: String], input: CInt, output: CInt, error: CInt
) throws(ChildProcess.SpawnFailure) -> pid_t {
  var actions = posix_spawn_file_actions_t()
  posix_spawn_file_actions_init(&actions)
  defer { posix_spawn_file_actions_destroy(&actions) }
  posix_spawn_file_actions_adddup2(&actions, input, 0)
  posix_spawn_file_actions_adddup2(&actions, output, 1)
  posix_spawn_file_actions_adddup2(&actions, error, 2)
  for descriptor in 3..<descriptorLimit() { posix_spawn_file_actions_addclose(&actions, descriptor) }

  var attributes = posix_spawnattr_t()
  posix_spawnattr_init(&attributes)
  defer { posix_spawnattr_destroy(&attributes) }
  // Use default signal handling with nothing blocked. This program ignores SIGPIPE, and the child must not inherit that.
  var signals = sigset_t()
  sigemptyset(&signals)
  posix_spawnattr_setsigmask(&attributes, &signals)
  sigfillset(&signals)
  posix_spawnattr_setsigdefault(&attributes, &signals)
  posix_spawnattr_setpgroup(&attributes, 0)
  posix_spawnattr_setflags(
    &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))

  var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
  arguments.append(nil)
  defer { for argument in arguments { free(argument) } }
  var processID = pid_t()
  var variables = variables(with: environment)
  defer { for variable in variables { free(variable) } }
  let code = posix_spawnp(&processID, words[0], &actions, &attributes, arguments, &variables)
  guard code == 0 else { throw .init(code: code) }
  return processID
}

/// Returns copies of the variables of this process, except those that are replaced, and then the additional ones.
private func variables(with additional: [String: String]) -> [UnsafeMutablePointer<CChar>?] {
  var variables: [UnsafeMutablePointer<CChar>?] = []
  var entry = environ
  while let variable = entry.pointee {
    let name = String(cString: variable).prefix { $0 != "=" }
    if additional[String(name)] == nil { variables.append(strdup(variable)) }
    entry += 1
  }
  return variables + additional.map { strdup("\($0.key)=\($0.value)") } + [nil]
}

/// A limit above all descriptors of this process, now and in a moment. Those that a library opens meanwhile without
/// close-on-exec get the lowest free numbers. Closing an unopened descriptor is not an error (posix_spawn(3)).
private func descriptorLimit() -> CInt {
  guard let names = try? Folder.names(in: "/proc/self/fd") else { return 1024 }
  return max(2, names.compactMap { CInt($0) }.max() ?? 0) + 256
}
