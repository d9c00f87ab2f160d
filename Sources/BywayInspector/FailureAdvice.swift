import Byway

/// What to try when an exchange has failed, where the message does not say so itself.
enum FailureAdvice {
  static func text(for code: BywayError.Code) -> String? {
    switch code {
    case .linkUnavailable: "byway doctor LINK goes through the link from the ground up, and says what is wrong with it."
    case .linkLost: "The line panel shows when the link was lost. What is safe to repeat is repeated; this was not."
    case .originUnavailable: "The gateway reached nobody at its origin: look whether the service there runs."
    case .timedOut: "Nothing came in time: the panel of the line shows what it carried meanwhile."
    default: nil
    }
  }
}
