/// What is wrong with a line of a file.
struct ConfigurationFlaw: Error {
  let line: Int
  let failure: CommandFailure
}

/// All that is wrong with a configuration, in the order of its lines; at least one.
struct ConfigurationErrors: Error {
  let failures: [CommandFailure]
}
