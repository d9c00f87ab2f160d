/// What is wrong with a line of a file.
struct ConfigurationFlaw: Error {
  let line: Int
  let failure: CommandFailure
}

/// All that is wrong with a configuration, in the order of its lines; at least one.
struct ConfigurationErrors: Error {
  let failures: [CommandFailure]

  init(failures: [CommandFailure]) {
    self.failures = failures
  }

  /// - Parameter flaws: what stands before the first section may have been found for each of them.
  init(of flaws: [OptionFlaw]) {
    var known: Set<String> = []
    failures = flaws.filter { known.insert($0.failure.message).inserted }
      .sorted { $0.line ?? .max < $1.line ?? .max }.map(\.failure)
  }
}

/// What is wrong with an option, and the line that says it.
struct OptionFlaw {
  /// `nil` where no line does.
  let line: Int?
  let failure: CommandFailure
}
