import Byway
import BywayDoctor

/// Advice for users whose command fails because of its link: the command that fixes the fault, or byway doctor.
enum DoctorAdvice {
  /// Runs a command's work over a link, and adds the advice to an error of the link.
  static func ifFails<Result>(_ link: Link, _ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch var error as BywayError {
      // Errors of a login name its remedy, and the doctor does not log in.
      if concernsLink(error), link.console == nil {
        error.message +=
          error.diagnosis?.commandLine.map { " Run: \($0)" } ?? " To find out why: \(command(for: link))"
      }
      throw error
    }
  }

  static func command(for link: Link) -> String { Diagnosis.Repair.examine(link: link.address.text).commandLine }

  private static func concernsLink(_ error: BywayError) -> Bool {
    switch error.code {
    case .linkUnavailable, .linkLost, .protocolViolation: true
    default: false
    }
  }
}
