import Logging
import Synchronization

/// The certificates of dialing ends whose lapse is in the log. An end that dials again and again does not repeat it.
///
/// Safe on any thread.
final class LapseLog: Sendable {
  /// The maximum number of files: the links of a pattern may name many.
  private static let limit = 64

  private let logged = Mutex<[String: CertificateLapse]>([:])

  /// Returns the level for the state of a certificate at one attempt.
  /// - Parameter lapse: `nil` if the certificate is valid.
  func level(of lapse: CertificateLapse?, in file: String) -> Logger.Level {
    logged.withLock { logged in
      guard logged[file] != lapse else { return .debug }
      if logged.count >= Self.limit { logged = [:] }
      logged[file] = lapse
      return .warning
    }
  }
}
