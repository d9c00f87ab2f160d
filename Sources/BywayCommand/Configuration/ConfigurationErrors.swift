import BywayTerminal

/// An error in a line of a file.
struct ConfigurationFlaw: Error {
  let line: Int
  let failure: CommandFailure
}

/// All errors in a configuration, in the order of its lines; at least one.
struct ConfigurationErrors: Error {
  let failures: [CommandFailure]

  init(failures: [CommandFailure]) {
    self.failures = failures
  }

  /// - Parameter flaws: Those of lines before the first section may occur once for each section.
  init(of flaws: [OptionFlaw]) {
    var known: Set<String> = []
    failures = flaws.filter { known.insert($0.failure.message).inserted }
      .sorted { $0.line ?? .max < $1.line ?? .max }.map(\.failure)
  }
}

/// An error in an option, and the line that sets it.
struct OptionFlaw {
  /// `nil` if no line sets it.
  let line: Int?
  let failure: CommandFailure
}
