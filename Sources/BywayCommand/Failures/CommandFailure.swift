/// A failure of a command itself, not of a link or an exchange.
struct CommandFailure: Error {
  let status: ExitStatus
  /// One or two sentences: what happened, and what to try.
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  /// The same, said of a place: a line, a section or an option.
  func at(_ place: String) -> CommandFailure { CommandFailure(status, place + message) }
}

/// Whoever read standard output has seen enough: no reason to complain.
struct BrokenPipe: Error {}
