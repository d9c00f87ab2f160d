package import BywayTerminal

/// An error in a line of a file.
package struct ConfigurationFlaw: Error {
  package let line: Int
  package let failure: CommandFailure

  package init(line: Int, failure: CommandFailure) {
    self.line = line
    self.failure = failure
  }
}

/// All errors in a configuration, in the order of its lines; at least one.
package struct ConfigurationErrors: Error {
  package let failures: [CommandFailure]

  package init(failures: [CommandFailure]) {
    self.failures = failures
  }

  /// - Parameter flaws: Those of lines before the first section may occur once for each section.
  package init(of flaws: [OptionFlaw]) {
    var known: Set<String> = []
    failures = flaws.filter { known.insert($0.failure.message).inserted }
      .sorted { $0.line ?? .max < $1.line ?? .max }.map(\.failure)
  }
}

/// An error in an option, and the line that sets it.
package struct OptionFlaw {
  /// `nil` if no line sets it.
  package let line: Int?
  package let failure: CommandFailure

  package init(line: Int?, failure: CommandFailure) {
    self.line = line
    self.failure = failure
  }
}
