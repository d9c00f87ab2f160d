import Synchronization

/// What a person has typed, so that nobody is asked again when a connection has to be made again. Lives in memory, for as
/// long as the process.
final class LoginMemory: Sendable {
  static let process = LoginMemory()

  private let answers = Mutex<[String: Secret]>([:])

  /// - Parameter purpose: what the secret opens, and nothing else: a file, or a user at a host and port.
  subscript(purpose: String) -> Secret? {
    get { answers.withLock { $0[purpose] } }
    set { answers.withLock { $0[purpose] = newValue } }
  }
}
