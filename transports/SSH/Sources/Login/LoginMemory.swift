import Synchronization

/// The passwords and passphrases that the user has typed, so that a reconnection needs no prompt. They are kept in memory, for
/// the life of the process.
final class LoginMemory: Sendable {
  static let process = LoginMemory()

  private let answers = Mutex<[String: Secret]>([:])

  /// - Parameter purpose: the one thing that the secret opens: a file, or a user at a host and port.
  subscript(purpose: String) -> Secret? {
    get { answers.withLock { $0[purpose] } }
    set { answers.withLock { $0[purpose] = newValue } }
  }
}
