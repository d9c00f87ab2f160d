import BywayLibC

/// A system program that a remedy runs, with empty standard input and discarded output.
package enum SystemCommand {
  /// - Returns: whether it ended in time with status 0.
  package static func run(_ words: [String], within limit: Duration) async -> Bool {
    guard let id = start(words) else { return false }
    let deadline = ContinuousClock.now + limit
    var status: CInt = 0
    while waitpid(id, &status, WNOHANG) == 0 {
      guard ContinuousClock.now < deadline, (try? await Task.sleep(for: .milliseconds(20))) != nil else {
        kill(id, SIGKILL)
        waitpid(id, &status, 0)
        return false
      }
    }
    return status == 0
  }

  private static func start(_ words: [String]) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    guard posix_spawn_file_actions_init(&actions) == 0 else { return nil }
    defer { posix_spawn_file_actions_destroy(&actions) }
    for descriptor in 0...2 as ClosedRange<CInt> {
      posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0)
    }
    var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var id: pid_t = 0
    guard let name = words.first, posix_spawnp(&id, name, &actions, nil, &arguments, environ) == 0 else { return nil }
    return id
  }
}
