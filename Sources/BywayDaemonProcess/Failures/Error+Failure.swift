import Byway
package import BywayTerminal

extension Error {
  /// The error as a user sees it.
  package var asFailure: CommandFailure {
    switch self {
    case let failure as CommandFailure: failure
    case let errors as ConfigurationErrors: CommandFailure(errors.failures.status, errors.failures.lines)
    case let error as BywayError: CommandFailure(ExitStatus(error.code), error.message)
    default: CommandFailure(.software, "\(self)")
    }
  }
}
