import Byway
package import BywayTerminal

/// Values of options that the parser leaves as text. Errors in them are reported with the option's name.
package enum OptionValue {
  /// - Parameter option: `--origin`
  /// - Throws: ``CommandFailure``
  package static func of<Value>(_ option: String, _ read: () throws -> Value) throws -> Value {
    do { return try read() } catch { throw failure(error, at: option) ?? error }
  }

  /// - Parameter place: An option, or a line of a file.
  /// - Returns: `nil` if the error is not about a value.
  package static func failure(_ error: any Error, at place: String) -> CommandFailure? {
    switch error {
    case let error as CommandFailure: CommandFailure(error.status, "\(place): \(error.message)")
    case let error as BywayError: CommandFailure(ExitStatus(error.code), "\(place): \(error.message)")
    default: nil
    }
  }
}
