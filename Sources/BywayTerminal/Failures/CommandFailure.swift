/// A failure of a command itself, not of a link or an exchange.
package struct CommandFailure: Error {
  package let status: ExitStatus
  /// The message in one or two sentences: what happened, and what to try.
  package let message: String

  package init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }

  /// Returns the failure with a place before its message: a line, a section or an option.
  package func at(_ place: String) -> CommandFailure { CommandFailure(status, place + message) }
}

/// The reader of standard output has gone away, which is not an error of the command.
package struct BrokenPipe: Error {
  package init() {}
}
