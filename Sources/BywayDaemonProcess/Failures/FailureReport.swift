import BywayLibC
import BywayPrimitives
import BywayTerminal

/// The report of a failure that ends the process.
package enum FailureReport {
  /// Prints a failure as a line of the log if the log is not text: its readers need the errors of a start as well.
  package static func print(_ message: String) {
    let format = LogLevels.currentFormat
    guard format != .text else { return StandardStream.error.writeLine("byway: \(message)") }
    let line = LogLine(time: .now(), level: .error, label: "byway", message: message, metadata: [])
    try? Descriptor.write(line.bytes(format), to: STDERR_FILENO)
  }
}
