import Byway

/// Advice for a failed exchange, in addition to its message.
enum FailureAdvice {
  static func text(for code: BywayError.Code) -> String? {
    switch code {
    case .linkUnavailable:
      Advice.examine(link: "LINK").command.map { "\($0) examines the link step by step and reports the fault." }
    case .linkLost: "The line panel shows when the link was lost. This request was not safe to repeat."
    case .originUnavailable: "The gateway could not reach its origin: check that the service there is running."
    case .timedOut: "No answer came in time: the line panel shows what the link carried meanwhile."
    default: nil
    }
  }
}
