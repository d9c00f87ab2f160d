/// What was asked for has been written, and it is not good: nothing is to be added on standard error.
struct ToldAlready: Error {
  let status: ExitStatus
}
