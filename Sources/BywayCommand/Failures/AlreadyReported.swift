import BywayTerminal

/// The command's output already reports the failure: standard error adds nothing.
struct AlreadyReported: Error {
  let status: ExitStatus
}
