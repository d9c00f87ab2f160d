/// The command's output already reports the failure: standard error adds nothing.
struct ToldAlready: Error {
  let status: ExitStatus
}
