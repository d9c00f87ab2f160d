import Byway
import BywayLibC
import NIOCore
import NIOPosix
import Synchronization

/// Checks passwords on threads of its own, which have a low priority. Safe on any thread.
final class PasswordChecker: Sendable {
  /// How long a request waits for its check.
  static let patience = TimeAmount.seconds(5)
  /// A lower priority than threads that answer requests: a flood of logins gets only the remaining processor time.
  private static let niceness: CInt = 10

  /// The maximum number of checks that run at once.
  static let threadLimit = 2

  private struct State {
    var pool: NIOThreadPool?
    var library: CryptLibrary?
    var isOver = false
  }

  private let state = Mutex(State())

  /// Loads the library for checking passwords.
  /// - Throws: ``BywayError`` with code `unreadableFile` if this machine has no libcrypt, or one that does not know a hash of the file.
  func prepare(for file: PasswordFile) throws(BywayError) {
    let library = try state.withLock { state throws(BywayError) -> CryptLibrary in
      if let library = state.library { return library }
      let library = try CryptLibrary()
      state.library = library
      return library
    }
    guard let user = file.user(where: { !library.knows($0) }) else { return }
    throw BywayError(
      .unreadableFile,
      "The hash of \(user) is of a kind that the libcrypt of this machine does not know: make one with: htpasswd -B -C 10 \(user).",
      processing: .none)
  }

  /// - Returns: whether the password matches. Fails after ``shutDown()``.
  func check(
    _ password: [UInt8], against hash: PasswordHash, on eventLoop: any EventLoop
  ) -> EventLoopFuture<Bool> {
    let ready = state.withLock { state -> (NIOThreadPool, CryptLibrary)? in
      guard !state.isOver, let library = state.library else { return nil }
      let pool = state.pool ?? Self.makePool()
      state.pool = pool
      return (pool, library)
    }
    guard let (pool, library) = ready else {
      return eventLoop.makeFailedFuture(
        BywayError(.refused, "The proxy is stopping and checks no more logins.", processing: .none))
    }
    return pool.runIfActive(eventLoop: eventLoop) {
      // Sets the priority of the calling thread only (setpriority(2), "C library/kernel differences").
      setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness)
      return library.matches(password, hash)
    }
  }

  func shutDown() async {
    let pool = state.withLock { state in
      state.isOver = true
      return state.pool.take()
    }
    try? await pool?.shutdownGracefully()
  }

  private static func makePool() -> NIOThreadPool {
    // Half of the processors, so that the other half can serve known users.
    let pool = NIOThreadPool(numberOfThreads: max(1, min(threadLimit, System.coreCount / 2)))
    pool.start()
    return pool
  }
}
