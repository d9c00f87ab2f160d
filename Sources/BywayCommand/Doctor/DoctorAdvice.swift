import Byway
import Primitives

/// Tells people whose command fails because of its link who knows more about that.
enum DoctorAdvice {
  /// Runs what a command does over a link.
  static func ifFails<Result>(_ link: Link, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch var error as BywayError {
      if concernsLink(error) { error.message += " To find out why: \(command(for: link))" }
      throw error
    }
  }

  static func command(for link: Link) -> String { "byway doctor \(ShellWord.of(link.address.text))" }

  private static func concernsLink(_ error: BywayError) -> Bool {
    switch error.code {
    case .linkUnavailable, .linkLost, .protocolViolation: true
    default: false
    }
  }
}
