import Byway
import NIOCore

/// Asks a person.
protocol Prompter: Sendable {
  /// - Parameter echo: whether what is typed may be seen.
  /// - Returns: `nil` where nobody can be asked.
  /// - Throws: where nobody answers by the deadline, or the caller gives up.
  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret?
}

/// Where nobody is to be asked (`BatchMode`).
struct NobodyPrompter: Prompter {
  func ask(_ question: String, echo: Bool, until deadline: NIODeadline) async throws(BywayError) -> Secret? { nil }
}
