import Byway
import NIOCore

/// Asks the user.
protocol Prompter: Sendable {
  /// - Parameter echo: whether the typed answer may be shown.
  /// - Returns: `nil` if there is no user to ask.
  /// - Throws: if there is no answer by the deadline, or the caller gives up.
  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret?
}

/// A prompter that never asks (`BatchMode`).
struct BatchModePrompter: Prompter {
  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret? { nil }
}
