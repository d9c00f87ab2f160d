extension [CommandFailure] {
  /// The messages, one on each line.
  package var lines: String { map(\.message).joined(separator: "\n") }

  /// The exit status for all of them.
  package var status: ExitStatus { first?.status ?? .usage }
}
